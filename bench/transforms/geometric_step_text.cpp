#include "bench/transforms/geometric_step_text.h"

#include <string_view>

#include "bench/transforms/step_numbers.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

using cli::UsageError;

namespace {

// Takes ":word" off the end of what stands behind a step's name.
bool TakeWord(std::string& value, std::string_view word) {
  const std::string suffix = ":" + std::string(word);
  if (!value.ends_with(suffix)) return false;
  value.erase(value.size() - suffix.size());
  return true;
}

// "S" or "WxH", with ":area" for that filter.
template <class Step>
Step Sized(std::string value) {
  Step step;
  if (TakeWord(value, "area")) step.filter = Filter::kArea;
  const cli::Sides sides = cli::ParseSides(value);
  step.width = sides.width;
  step.height = sides.height;
  return step;
}

// "S", "S/LOW/HIGH" (shares of the area), "S/LOW/HIGH/LOW/HIGH" (and ratios), with ":area".
Transform RandomResized(const std::string& name, std::string value) {
  const bool area = TakeWord(value, "area");
  const std::size_t slash = value.find('/');
  auto step = Sized<RandomResizedCrop>(value.substr(0, slash));
  if (area) step.filter = Filter::kArea;
  if (slash == std::string::npos) return step;
  const std::vector<double> numbers = StepNumbers(name, value.substr(slash + 1), 2, 4, 256);
  if (numbers.size() == 3) throw UsageError("\"rrc\" takes a least and a largest ratio");
  step.min_scale = numbers[0];
  step.max_scale = numbers[1];
  if (numbers.size() > 2) {
    step.min_ratio = numbers[2];
    step.max_ratio = numbers[3];
  }
  return step;
}

Transform ShortSide(std::string value) {
  ResizeShortSide step;
  if (TakeWord(value, "area")) step.filter = Filter::kArea;
  step.side = static_cast<std::uint32_t>(cli::ParseInteger(value, 1, 65535));
  return step;
}

// "S", "S+P", "S+P:reflect".
Transform Crop(std::string value) {
  RandomCrop step;
  const bool reflect = TakeWord(value, "reflect");
  if (reflect) step.border = Border::kReflect;
  const std::size_t plus = value.find('+');
  if (reflect && plus == std::string::npos) {
    throw UsageError("\"crop\" reflects its padding: crop:S+P:reflect");
  }
  const cli::Sides sides = cli::ParseSides(value.substr(0, plus));
  step.width = sides.width;
  step.height = sides.height;
  if (plus != std::string::npos) {
    step.padding = static_cast<std::uint32_t>(cli::ParseInteger(value.substr(plus + 1), 0, 65535));
  }
  return step;
}

Transform Translate(std::string value) {
  RandomTranslate step;
  if (TakeWord(value, "reflect")) step.border = Border::kReflect;
  step.padding = static_cast<std::uint32_t>(cli::ParseInteger(value, 0, 65535));
  return step;
}

// "DEGREES[/SHIFT[/LOW/HIGH[/SHEAR]]]": at most so many either way.
Transform Affine(const std::string& name, const std::string& value) {
  const std::vector<double> numbers = StepNumbers(name, value, 1, 5, 360);
  if (numbers.size() == 3) throw UsageError("\"affine\" takes a least and a largest scale");
  RandomAffine step(numbers[0]);
  if (numbers.size() > 1) step.translate_x = step.translate_y = numbers[1];
  if (numbers.size() > 3) {
    step.min_scale = numbers[2];
    step.max_scale = numbers[3];
  }
  if (numbers.size() > 4) {
    step.min_shear_x = -numbers[4];
    step.max_shear_x = numbers[4];
  }
  return step;
}

}  // namespace

std::optional<Transform> ParseGeometricStep(const std::string& name, const std::string& value) {
  if (name == "rrc") return RandomResized(name, value);
  if (name == "resize") return Sized<Resize>(value);
  if (name == "crc") return Sized<CenterResizedCrop>(value);
  if (name == "short") return ShortSide(value);
  if (name == "center") {
    const cli::Sides sides = cli::ParseSides(value);
    return CenterCrop(sides.width, sides.height);
  }
  if (name == "crop") return Crop(value);
  if (name == "translate") return Translate(value);
  if (name == "flip") return StepWithChance<HorizontalFlip>(name, value);
  if (name == "vflip") return StepWithChance<VerticalFlip>(name, value);
  if (name == "turns") return StepWithChance<RandomQuarterTurns>(name, value);
  if (name == "affine") return Affine(name, value);
  return std::nullopt;
}

}  // namespace sluice::bench
