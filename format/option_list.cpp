#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include <sluice/option_list.h>

namespace sluice::option_list {

std::string NumberText(double number, NumberForm form) {
  constexpr std::array kUnits = {std::pair{1073741824.0, "GiB"}, std::pair{1048576.0, "MiB"},
                                 std::pair{1e6, "MB"}};
  if (form == NumberForm::kBytes) {
    for (const auto& [bytes, unit] : kUnits) {
      if (number >= bytes &&
          static_cast<std::uint64_t>(number) % static_cast<std::uint64_t>(bytes) == 0)
        return NumberText(number / bytes, NumberForm::kPlain) + unit;
    }
  }
  if (form == NumberForm::kCount && number >= 1e6 &&
      static_cast<std::uint64_t>(number) % 1'000'000 == 0)
    return NumberText(number / 1e6, NumberForm::kPlain) + "M";
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", number);
  return text;
}

std::string RangeText(const OptionFacts& facts) {
  const std::string least = NumberText(facts.least, facts.form);
  const std::string most = NumberText(facts.most, facts.form);
  if (std::isinf(facts.most)) return "at least " + least;
  return std::isinf(facts.least) ? "at most " + most : least + " to " + most;
}

}  // namespace sluice::option_list
