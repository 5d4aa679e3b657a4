// The numbers of a step as it is written on a command line: "0.4/0.4".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::bench {

// From `least` to `most` numbers, each from `low` (0 or below) to `high`, separated by /. `name` is
// the step's, for the sentence of a cli::UsageError.
std::vector<double> StepNumbers(const std::string& name, const std::string& value,
                                std::size_t least, std::size_t most, double high, double low = 0);

// One of them that counts something. Throws where it is not whole.
unsigned WholeNumber(const std::string& name, double number);

// The same of a step with nothing but a probability, "name" or "name:P".
template <class Step>
Step StepWithChance(const std::string& name, const std::string& value) {
  Step step;
  const std::vector<double> numbers = StepNumbers(name, value, 0, 1, 1);
  if (!numbers.empty()) step.probability = numbers[0];
  return step;
}

}  // namespace sluice::bench
