#include "bench/transforms/pixel_step_text.h"

#include <vector>

#include "bench/transforms/step_numbers.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

using cli::UsageError;

namespace {

Transform Jitter(const std::string& name, const std::string& value) {
  std::vector<double> numbers = StepNumbers(name, value, 1, 4, 1000);
  numbers.resize(4);
  return ColorJitter{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Transform Blur(const std::string& name, const std::string& value) {
  const std::vector<double> numbers = StepNumbers(name, value, 1, 3, 1000);
  GaussianBlur blur;
  blur.kernel = WholeNumber(name, numbers[0]);
  if (numbers.size() > 1) blur.min_sigma = blur.max_sigma = numbers[1];
  if (numbers.size() > 2) blur.max_sigma = numbers[2];
  return blur;
}

// "randaug", "randaug:N/M" or "randaug:N/M/BINS".
Transform Augment(const std::string& name, const std::string& value) {
  const std::vector<double> numbers = StepNumbers(name, value, 0, 3, 1000);
  if (numbers.size() == 1) throw UsageError("\"randaug\" takes operations and their magnitude");
  RandAugment step;
  if (numbers.size() > 1) {
    step.operations = WholeNumber(name, numbers[0]);
    step.magnitude = WholeNumber(name, numbers[1]);
  }
  if (numbers.size() > 2) step.bins = WholeNumber(name, numbers[2]);
  return step;
}

// "erase", "erase:P" or "erase:P/LOW/HIGH", shares of the area.
Transform Erase(const std::string& name, const std::string& value) {
  const std::vector<double> numbers = StepNumbers(name, value, 0, 3, 1);
  if (numbers.size() == 2) throw UsageError("\"erase\" takes a least and a largest share");
  RandomErasing step;
  if (!numbers.empty()) step.probability = numbers[0];
  if (numbers.size() > 2) {
    step.min_scale = numbers[1];
    step.max_scale = numbers[2];
  }
  return step;
}

// ImageNet's mean and deviation, as most trainings have them.
Transform Normalized(const std::string& value) {
  Normalize normalize{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  if (value == "f16") {
    normalize.type = FloatType::kFloat16;
  } else if (value == "bf16") {
    normalize.type = FloatType::kBFloat16;
  } else if (!value.empty() && value != "f32") {
    throw UsageError("normalize is followed by nothing, :f32, :f16 or :bf16");
  }
  return normalize;
}

}  // namespace

std::optional<Transform> ParsePixelStep(const std::string& name, const std::string& value) {
  if (name == "jitter") return Jitter(name, value);
  if (name == "gray") return StepWithChance<RandomGrayscale>(name, value);
  if (name == "blur") return Blur(name, value);
  if (name == "solarize") {
    return Solarize{static_cast<unsigned>(value.empty() ? 128 : cli::ParseInteger(value, 0, 256))};
  }
  if (name == "posterize") {
    return Posterize{static_cast<unsigned>(cli::ParseInteger(value, 1, 8))};
  }
  if (name == "equalize") return StepWithChance<Equalize>(name, value);
  if (name == "autocontrast") return StepWithChance<AutoContrast>(name, value);
  if (name == "invert") return StepWithChance<Invert>(name, value);
  if (name == "sharpness") return AdjustSharpness{StepNumbers(name, value, 1, 1, 1000)[0]};
  if (name == "erase") return Erase(name, value);
  if (name == "randaug") return Augment(name, value);
  if (name == "trivialaug") return StepWithChance<TrivialAugmentWide>(name, value);
  if (name == "normalize") return Normalized(value);
  return std::nullopt;
}

}  // namespace sluice::bench
