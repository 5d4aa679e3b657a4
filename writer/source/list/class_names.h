// Class names as they occur, and the numbers they get once all names are known.
//
// Sources name classes by texts: folders, cells of a table, a member .cls of an archive. A text
// that is a whole number should stay that number, because the user has it in other files as well.
// But if one text is not such a number ("-1", "unknown"), all texts are numbered in the order of
// their bytes, in which "10" comes before "2": the other classes would silently get new numbers. So
// every reader that numbers classes calls Settle(), which applies the same rules to all sources and
// warns or refuses. The reader only gives the words for messages (NamesOrigin).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/disk/bytes.h"

namespace sluice {

// How classes are numbered if their names are not given in order.
enum class Numbering {
  kNumbersIfAll,  // if all names are whole numbers from 0 to 65535 ("7", or "7.0"), each keeps its
                  // number, and there are classes up to the largest; otherwise as kNames
  kNames,         // in the order of the names' bytes
  kNumbers,       // each name is such a number, and keeps it
};

// Where the names of classes come from, for messages.
struct NamesOrigin {
  std::filesystem::path place;  // the file or folder
  std::string what;             // names the classes there, such as "the column label"
  // The end of a message. With kNumbersIfAll it continues "take out": first what to take out, then
  // other ways. With kNames it is a clause that says how to keep names that are numbers.
  std::string remedy;
  // A sample of the class that Add() gave this number; empty if it is not known.
  std::function<std::string(std::int32_t)> sample = {};
};

class ClassNames {
 public:
  // `wanted`: the names of classes 0, 1, ...; if empty, the names that occur.
  explicit ClassNames(std::vector<std::string> wanted = {});

  // Adds more wanted names.
  void Extend(const std::vector<std::string>& wanted);

  // A preliminary number for the name; nullopt if it is not one of the wanted ones, by name or by
  // number, or if several of them have that name.
  std::optional<std::int32_t> Add(std::string_view name);

  // Whether the name is one of the wanted ones.
  bool Has(std::string_view name) const { return fixed_ && added_.contains(name); }

  // Call it after the last Add(). Adds a warning if a name that is a whole number becomes the class
  // of another number. Throws Error(kInvalidArgument): with kNumbers, for a name that is not a
  // number; with kNumbersIfAll, if all names are numbers except some that do not stand for a class,
  // such as -1 and NA.
  void Settle(const NamesOrigin& origin, std::vector<std::string>& warnings,
              Numbering numbering = Numbering::kNumbersIfAll);
  // The class of a number that Add() gave.
  std::int32_t NumberOf(std::int32_t added) const {
    return numbers_.at(static_cast<std::size_t>(added));
  }
  // Replaces preliminary numbers (int32s in memory) by the numbers of their classes.
  void Renumber(std::span<std::byte> numbers) const;
  // The names by number, invalid UTF-8 escaped.
  std::vector<std::string> Names() const { return names_; }

 private:
  void JudgeOddNames(const NamesOrigin& origin, std::vector<std::string>& warnings) const;
  void JudgeOrder(const NamesOrigin& origin, std::vector<std::string>& warnings) const;

  bool fixed_;  // the names were given (`wanted`)
  // The number that Add() gives to each name.
  std::map<std::string, std::int32_t, std::less<>> added_;
  std::vector<std::int32_t> numbers_;  // by the number that Add() gave
  std::vector<std::string> names_;
};

}  // namespace sluice
