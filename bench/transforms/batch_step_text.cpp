#include "bench/transforms/batch_step_text.h"

#include "bench/transforms/step_numbers.h"

namespace sluice::bench {

namespace {

// "name", "name:ALPHA" or "name:ALPHA/P".
template <class Step>
Step Mixing(const std::string& name, const std::string& value) {
  Step step;
  const std::vector<double> numbers = StepNumbers(name, value, 0, 2, 100);
  if (!numbers.empty()) step.alpha = numbers[0];
  if (numbers.size() > 1) step.probability = numbers[1];
  return step;
}

}  // namespace

std::optional<Transform> ParseBatchStep(const std::string& name, const std::string& value) {
  if (name == "onehot") {
    OneHot step;
    const std::vector<double> numbers = StepNumbers(name, value, 0, 1, 1);
    if (!numbers.empty()) step.smoothing = numbers[0];
    return step;
  }
  if (name == "mixup") return Mixing<MixUp>(name, value);
  if (name == "cutmix") return Mixing<CutMix>(name, value);
  return std::nullopt;
}

}  // namespace sluice::bench
