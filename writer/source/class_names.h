// Class names as they occur, and the numbers they get once all are known.
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
  // `wanted`: the names of classes 0, 1, ...; none: those that will occur.
  explicit ClassNames(std::vector<std::string> wanted = {});

  // A number for the name, to be settled later; nullopt if it is none of the wanted ones (by name,
  // or by number).
  std::optional<std::int32_t> Add(std::string_view name);

  // No name is added after this. Names that are all whole numbers from 0 to 65535 stay what they
  // are (there are classes up to the greatest); others are numbered in the order of their bytes.
  void Settle();
  // The class of a number that Add() gave.
  std::int32_t NumberOf(std::int32_t added) const {
    return numbers_.at(static_cast<std::size_t>(added));
  }
  // The same for int32s in memory.
  void Renumber(std::span<std::byte> numbers) const;
  // The names by number, invalid UTF-8 escaped.
  std::vector<std::string> Names() const { return names_; }

 private:
  bool fixed_;
  std::map<std::string, std::int32_t, std::less<>> added_;
  std::vector<std::int32_t> numbers_;  // by the number that Add() gave
  std::vector<std::string> names_;
};

}  // namespace sluice
