#include "writer/source/class_names.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::int32_t kMostNumber = 65'535;

// "12", but not "+12" or "012": only text that prints back the same; and "12.0", as tables write
// numbers in a column with gaps.
std::optional<std::int32_t> WholeNumber(std::string_view text) {
  std::int32_t number = 0;
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos && point + 1 < text.size() &&
      text.find_first_not_of('0', point + 1) == std::string_view::npos) {
    text = text.substr(0, point);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  if (std::to_string(number) != text) return std::nullopt;
  return number;
}

// What tables write where there is no class.
bool IsGap(std::string_view text) {
  constexpr std::string_view kGaps[] = {"NA",   "N/A",  "na",   "n/a", "null",
                                        "NULL", "None", "none", "-",   "?"};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return !(number >= 0);
  return std::find(std::begin(kGaps), std::end(kGaps), text) != std::end(kGaps);
}

}  // namespace

ClassNames::ClassNames(std::vector<std::string> wanted)
    : fixed_(!wanted.empty()), names_(std::move(wanted)) {
  for (const std::string& name : names_)
    added_.emplace(name, static_cast<std::int32_t>(added_.size()));
  for (std::size_t i = 0; i < names_.size(); ++i)
    numbers_.push_back(static_cast<std::int32_t>(i));
}

void ClassNames::Extend(const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    const auto number = static_cast<std::int32_t>(names_.size());
    if (!added_.emplace(name, number).second) continue;
    names_.push_back(name);
    numbers_.push_back(number);
  }
}

std::optional<std::int32_t> ClassNames::Add(std::string_view name) {
  const auto found = added_.find(name);
  if (found != added_.end()) return found->second;
  if (fixed_) {
    const std::optional<std::int32_t> number = WholeNumber(name);
    if (!number || static_cast<std::size_t>(*number) >= names_.size()) return std::nullopt;
    return number;
  }
  const auto number = static_cast<std::int32_t>(added_.size());
  added_.emplace(name, number);
  return number;
}

void ClassNames::Settle() {
  if (fixed_) return;
  numbers_.resize(added_.size());
  std::int32_t most = -1;
  bool gaps = true;
  for (const auto& [name, added] : added_) {
    const std::optional<std::int32_t> number = WholeNumber(name);
    if (number && *number <= kMostNumber) {
      most = std::max(most, *number);
      continue;
    }
    if (odd_one_.empty()) odd_one_ = ToUtf8(name);
    gaps = gaps && IsGap(name);
  }
  if (odd_one_.empty() && most >= 0) {
    for (std::int32_t number = 0; number <= most; ++number)
      names_.push_back(std::to_string(number));
    for (const auto& [name, added] : added_)
      numbers_[static_cast<std::size_t>(added)] = *WholeNumber(name);
    return;
  }
  if (most < 0) odd_one_.clear();  // they are all alike
  numbers_but_for_gaps_ = most >= 0 && gaps;
  for (const auto& [name, added] : added_) {
    numbers_[static_cast<std::size_t>(added)] = static_cast<std::int32_t>(names_.size());
    names_.push_back(ToUtf8(name));
  }
}

void ClassNames::Renumber(std::span<std::byte> numbers) const {
  for (std::size_t at = 0; at + sizeof(std::int32_t) <= numbers.size();
       at += sizeof(std::int32_t)) {
    std::int32_t number = 0;
    std::memcpy(&number, numbers.data() + at, sizeof number);
    number = NumberOf(number);
    std::memcpy(numbers.data() + at, &number, sizeof number);
  }
}

}  // namespace sluice
