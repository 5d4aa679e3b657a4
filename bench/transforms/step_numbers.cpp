#include "bench/transforms/step_numbers.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/quantity.h"

namespace sluice::bench {

std::vector<double> StepNumbers(const std::string& name, const std::string& value,
                                std::size_t least, std::size_t most, double high, double low) {
  std::vector<double> numbers;
  for (std::size_t begin = 0; !value.empty() && begin <= value.size();) {
    const std::size_t end = std::min(value.find('/', begin), value.size());
    const bool negative = low < 0 && value[begin] == '-';
    const std::size_t first = begin + (negative ? 1 : 0);
    const double number =
        cli::ParseNumber(value.substr(first, end - first), negative ? -low : high);
    numbers.push_back(negative ? -number : number);
    begin = end + 1;
  }
  if (numbers.size() < least || numbers.size() > most) {
    throw cli::UsageError("\"" + name + "\" takes " + std::to_string(least) + " to " +
                          std::to_string(most) + " numbers, separated by /");
  }
  return numbers;
}

unsigned WholeNumber(const std::string& name, double number) {
  if (number != std::floor(number)) {
    throw cli::UsageError("\"" + name + "\" takes a whole number, and " +
                          cli::Format("%g", number) + " is none");
  }
  return static_cast<unsigned>(number);
}

}  // namespace sluice::bench
