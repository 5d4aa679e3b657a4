// Sources that hold the same bytes, in one list or in several.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert.h>

#include "writer/source/source_list.h"

namespace sluice {

inline constexpr const char* kDuplicatesName = "duplicates.tsv";

// Indices of sources whose images are the same bytes (by a checksum of 128 bits), at least two to a
// group; both in the order of the list. Only files that another one has the size of are read. What
// cannot be read has no duplicates: the conversion says what is wrong with it.
std::vector<std::vector<std::size_t>> FindDuplicates(const SourceList& sources, unsigned threads,
                                                     const std::stop_token& stop);

// A source of one of several lists.
struct ListedSource {
  std::size_t list = 0;
  std::size_t source = 0;
  auto operator<=>(const ListedSource&) const = default;
};

// The same of groups that have sources of more than one list.
std::vector<std::vector<ListedSource>> FindShared(const std::vector<SourceList>& lists,
                                                  unsigned threads, const std::stop_token& stop);

Duplicate NameDuplicate(const SourceList& sources, std::size_t source);

// The groups for people, with the name of each one's class.
std::vector<std::vector<Duplicate>> NameDuplicates(
    const SourceList& sources, const std::vector<std::vector<std::size_t>>& groups);

// A line of headings, then one for each file: the number of its group, path, class. Cells are
// escaped as ToTsvCell() does.
std::string DuplicatesTable(const std::vector<std::vector<Duplicate>>& groups);

// The same with the name of the part before the path.
std::string SharedTable(const std::vector<std::vector<SharedImage>>& groups);

}  // namespace sluice
