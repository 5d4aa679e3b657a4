#include "bench/pixel_step_text.h"

#include <algorithm>
#include <vector>

#include "tools/cli/quantity.h"

namespace sluice::bench {

using cli::UsageError;

namespace {

// "0.4/0.4": from `least` to `most` numbers, each from 0 to `limit`.
std::vector<double> Numbers(const std::string& name, const std::string& value, std::size_t least,
                            std::size_t most, double limit) {
  std::vector<double> numbers;
  for (std::size_t begin = 0; !value.empty() && begin <= value.size();) {
    const std::size_t end = std::min(value.find('/', begin), value.size());
    numbers.push_back(cli::ParseNumber(value.substr(begin, end - begin), limit));
    begin = end + 1;
  }
  if (numbers.size() < least || numbers.size() > most) {
    throw UsageError("\"" + name + "\" takes " + std::to_string(least) + " to " +
                     std::to_string(most) + " numbers, separated by /");
  }
  return numbers;
}

// A step with nothing but a probability, "name" or "name:P".
template <class Step>
Transform Chance(const std::string& name, const std::string& value) {
  Step step;
  const std::vector<double> numbers = Numbers(name, value, 0, 1, 1);
  if (!numbers.empty()) step.probability = numbers[0];
  return step;
}

Transform Jitter(const std::string& name, const std::string& value) {
  std::vector<double> numbers = Numbers(name, value, 1, 4, 1000);
  numbers.resize(4);
  return ColorJitter{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Transform Blur(const std::string& name, const std::string& value) {
  const std::vector<double> numbers = Numbers(name, value, 1, 3, 1000);
  GaussianBlur blur;
  blur.kernel = static_cast<std::uint32_t>(numbers[0]);
  if (numbers.size() > 1) blur.min_sigma = blur.max_sigma = numbers[1];
  if (numbers.size() > 2) blur.max_sigma = numbers[2];
  return blur;
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
  if (name == "gray") return Chance<RandomGrayscale>(name, value);
  if (name == "blur") return Blur(name, value);
  if (name == "solarize") {
    return Solarize{static_cast<unsigned>(value.empty() ? 128 : cli::ParseInteger(value, 0, 256))};
  }
  if (name == "posterize") {
    return Posterize{static_cast<unsigned>(cli::ParseInteger(value, 1, 8))};
  }
  if (name == "equalize") return Chance<Equalize>(name, value);
  if (name == "autocontrast") return Chance<AutoContrast>(name, value);
  if (name == "invert") return Chance<Invert>(name, value);
  if (name == "sharpness") return AdjustSharpness{Numbers(name, value, 1, 1, 1000)[0]};
  if (name == "erase") return Chance<RandomErasing>(name, value);
  if (name == "normalize") return Normalized(value);
  return std::nullopt;
}

}  // namespace sluice::bench
