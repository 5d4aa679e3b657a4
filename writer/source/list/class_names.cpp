// Numbers are given twice. While names arrive, Add() gives preliminary ones in the order of
// arrival; Settle() knows all names and makes the table from these to the final ones. Numbers that
// a reader stored before Settle() must be translated (NumberOf(), Renumber()).
// `added_` is sorted by the names' bytes: a walk through it is the order in which names become
// classes. If the names were given, preliminary numbers are final, and Settle() can only warn.
#include "writer/source/list/class_names.h"

#include <algorithm>
#include <cstring>

#include <sluice/error.h>

#include "format/ascii.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::int32_t kMaxNumber = 65'535;
constexpr std::int32_t kOfSeveral = -1;  // the number of a name that several classes have

// The number of "12", or of "12.0", as tables write numbers in a column with gaps. nullopt for
// "+12" and "012", which may be names: the number 12 is not written so.
std::optional<std::int32_t> WholeNumber(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos && point + 1 < text.size() &&
      text.find_first_not_of('0', point + 1) == std::string_view::npos) {
    text = text.substr(0, point);
  }
  const auto number = ParseNumber<std::int32_t>(text);
  return number && *number >= 0 && std::to_string(*number) == text ? number : std::nullopt;
}

// A whole number that a class can have.
std::optional<std::int32_t> ClassNumber(std::string_view text) {
  const std::optional<std::int32_t> number = WholeNumber(text);
  return number && *number <= kMaxNumber ? number : std::nullopt;
}

// Whether sources use the text in the place of a missing class.
bool IsGap(std::string_view text) {
  constexpr std::string_view kGaps[] = {"na", "n/a", "null",      "none",       "-",
                                        "?",  "",    "unlabeled", "unlabelled", "unknown"};
  if (const auto number = ParseNumber<double>(text)) return !(*number >= 0);  // negative, or NaN
  return std::find(std::begin(kGaps), std::end(kGaps), LowerCase(text)) != std::end(kGaps);
}

}  // namespace

ClassNames::ClassNames(std::vector<std::string> wanted)
    : fixed_(!wanted.empty()), names_(std::move(wanted)) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    numbers_.push_back(static_cast<std::int32_t>(i));
    // ImageNet has two classes called crane: that name alone means neither of them.
    const auto [at, first] = added_.emplace(names_[i], numbers_.back());
    if (!first) at->second = kOfSeveral;
  }
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
  if (found != added_.end() && found->second == kOfSeveral) return std::nullopt;
  if (found != added_.end()) return found->second;
  if (fixed_) {
    // The wanted names may come from a dataset, whose names are escaped.
    const auto escaped = IsUtf8(name) ? added_.end() : added_.find(ToUtf8(name));
    if (escaped != added_.end() && escaped->second != kOfSeveral) return escaped->second;
    // A text that is not a name may be a class's number.
    const std::optional<std::int32_t> number = WholeNumber(name);
    if (!number || static_cast<std::size_t>(*number) >= names_.size()) return std::nullopt;
    return number;
  }
  const auto number = static_cast<std::int32_t>(added_.size());
  added_.emplace(name, number);
  return number;
}

// Called if at least one name is not a number, such as "cat". The first such name is reported;
// `added_` has them in the order of their bytes.
void ClassNames::JudgeOddNames(const NamesOrigin& origin,
                               std::vector<std::string>& warnings) const {
  const auto is_number = [](const auto& entry) { return ClassNumber(entry.first).has_value(); };
  if (std::none_of(added_.begin(), added_.end(), is_number))
    return;  // all are texts, so none is odd
  const auto odd = std::find_if_not(added_.begin(), added_.end(), is_number);
  const std::string quoted = '"' + ToUtf8(odd->first) + '"';
  const bool only_gaps = std::all_of(added_.begin(), added_.end(), [&](const auto& entry) {
    return is_number(entry) || IsGap(entry.first);
  });
  if (!only_gaps) {
    warnings.push_back("classes of " + origin.what +
                       " are numbered in the order of their names, though some are numbers: " +
                       quoted + " is not a whole number from 0 to 65535");
    return;
  }
  const std::string sample = origin.sample ? origin.sample(odd->second) : std::string();
  throw Error(ErrorCode::kInvalidArgument, origin.place.string(),
              origin.what + " has the class " + quoted + " among whole numbers" +
                  (sample.empty() ? "" : " (" + ToUtf8(sample) + ")") +
                  ", which would number the classes by the order of their names; take out " +
                  origin.remedy);
}

// Warns if a name that is a whole number gets another number as its class. Given names are judged
// as well: if they are sorted, they were probably found, not chosen.
void ClassNames::JudgeOrder(const NamesOrigin& origin, std::vector<std::string>& warnings) const {
  if (!std::is_sorted(names_.begin(), names_.end())) return;  // the user chose another order
  for (std::size_t c = 0; c < names_.size(); ++c) {
    const std::optional<std::int32_t> number = ClassNumber(names_[c]);
    if (!number || static_cast<std::size_t>(*number) == c) continue;
    warnings.push_back(origin.what +
                       " are numbered in the order of their names, though some are numbers: \"" +
                       names_[c] + "\" is class " + std::to_string(c) + "; " + origin.remedy);
    return;
  }
}

void ClassNames::Settle(const NamesOrigin& origin, std::vector<std::string>& warnings,
                        Numbering numbering) {
  if (fixed_) {
    if (numbering == Numbering::kNames) JudgeOrder(origin, warnings);
    return;
  }
  numbers_.resize(added_.size());
  std::int32_t largest = -1;
  const std::string* odd = nullptr;  // the first name that is not a number
  for (const auto& [name, added] : added_) {
    const std::optional<std::int32_t> number = ClassNumber(name);
    if (!number && odd == nullptr) odd = &name;
    largest = std::max(largest, number.value_or(-1));
  }
  if (numbering == Numbering::kNumbers && odd != nullptr) {
    throw Error(ErrorCode::kInvalidArgument, origin.place.string(),
                "has the class \"" + ToUtf8(*odd) +
                    "\", which is not a whole number from 0 to 65535; without --numbers classes "
                    "are numbered in the order of their names");
  }
  if (numbering != Numbering::kNames && odd == nullptr) {
    for (std::int32_t number = 0; number <= largest; ++number)
      names_.push_back(std::to_string(number));
    for (const auto& [name, added] : added_)
      numbers_[static_cast<std::size_t>(added)] = *ClassNumber(name);
    return;
  }
  if (numbering == Numbering::kNumbersIfAll) JudgeOddNames(origin, warnings);
  for (const auto& [name, added] : added_) {
    numbers_[static_cast<std::size_t>(added)] = static_cast<std::int32_t>(names_.size());
    names_.push_back(ToUtf8(name));
  }
  if (numbering == Numbering::kNames) JudgeOrder(origin, warnings);
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
