// Class names as they occur, and the numbers they get once all names are known.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/disk/bytes.h"

namespace sluice {

class ClassNames {
 public:
  // `wanted`: the names of classes 0, 1, ...; if empty, the names that occur.
  explicit ClassNames(std::vector<std::string> wanted = {});

  // Adds wanted names to those that there are.
  void Extend(const std::vector<std::string>& wanted);

  // A preliminary number for the name; nullopt if it is none of the wanted ones (by name or by
  // number).
  std::optional<std::int32_t> Add(std::string_view name);

  // Call it after the last Add(). If all names are whole numbers from 0 to 65535 ("7", or "7.0"),
  // each keeps its number (and there are classes up to the largest). Otherwise names are numbered
  // in the order of their bytes.
  void Settle();
  // After Settle(): a name that is none of those whole numbers while others are; empty if there is
  // none, or the names were wanted ones.
  const std::string& odd_one() const noexcept { return odd_one_; }
  // Whether the odd ones stand for no class at all, such as -1 and NA, so that the others are
  // numbers.
  bool numbers_but_for_gaps() const noexcept { return numbers_but_for_gaps_; }
  // The class of a number that Add() gave.
  std::int32_t NumberOf(std::int32_t added) const {
    return numbers_.at(static_cast<std::size_t>(added));
  }
  // As above, for int32s in memory.
  void Renumber(std::span<std::byte> numbers) const;
  // The names by number, invalid UTF-8 escaped.
  std::vector<std::string> Names() const { return names_; }

 private:
  bool fixed_;
  std::map<std::string, std::int32_t, std::less<>> added_;
  std::vector<std::int32_t> numbers_;  // by the number that Add() gave
  std::vector<std::string> names_;
  std::string odd_one_;
  bool numbers_but_for_gaps_ = false;
};

}  // namespace sluice
