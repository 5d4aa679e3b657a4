// A name is compared by the number of single changes that lead to it: a letter added, removed or
// replaced, or two neighbours exchanged, each letter at most once. That is the usual distance for
// typing errors (optimal string alignment), computed line by line.
#include <algorithm>
#include <array>
#include <cstddef>

#include <sluice/nearest_name.h>

#include "format/ascii.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxLetters = 64;  // longer names are not typed by hand

std::string Folded(std::string_view name) {
  std::string folded = LowerCase(name);
  std::erase_if(folded, [](char c) { return c == '-' || c == '_'; });
  return folded;
}

std::size_t Changes(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kMaxLetters + 1>, 3> lines{};
  for (std::size_t j = 0; j <= b.size(); ++j)
    lines[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& line = lines[i % 3];
    const auto& above = lines[(i + 2) % 3];
    const auto& second_above = lines[(i + 1) % 3];
    line[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      line[j] = std::min({above[j] + 1, line[j - 1] + 1,
                          above[j - 1] + static_cast<std::size_t>(a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        line[j] = std::min(line[j], second_above[j - 2] + 1);
    }
  }
  return lines[a.size() % 3][b.size()];
}

}  // namespace

std::string NearestName(std::string_view given, const std::vector<std::string>& names) {
  constexpr std::size_t kMinBeginning = 3;
  const std::string wanted = Folded(given);
  if (wanted.empty() || wanted.size() > kMaxLetters) return {};
  std::string nearest;
  std::size_t fewest = kMaxLetters + 1;
  for (const std::string& name : names) {
    const std::string folded = Folded(name);
    if (folded.empty() || folded.size() > kMaxLetters) continue;
    std::size_t changes = Changes(wanted, folded);
    const bool begins = wanted.size() >= kMinBeginning && folded.starts_with(wanted);
    if (begins) changes = std::min<std::size_t>(changes, 1);
    if (!begins && changes * 3 > std::max(wanted.size(), folded.size())) continue;
    if (changes >= fewest) continue;
    fewest = changes;
    nearest = name;
  }
  return nearest;
}

std::string NamesInstead(std::string_view given, const std::vector<std::string>& names,
                         std::string_view listed) {
  constexpr std::size_t kMaxListed = 30;
  if (const std::string nearest = NearestName(given, names); !nearest.empty())
    return "; did you mean \"" + nearest + "\"?";
  if (names.empty()) return {};
  std::string text = "; " + std::string(listed);
  for (std::size_t i = 0; i < std::min(names.size(), kMaxListed); ++i)
    text += (i == 0 ? ": " : ", ") + names[i];
  if (names.size() > kMaxListed)
    text += " and " + std::to_string(names.size() - kMaxListed) + " more";
  return text;
}

}  // namespace sluice
