// The messages of a conversion, apart from its numbers: warnings, the table of sources left out,
// and sources that hold the same bytes.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert.h>

#include "writer/source/list/source_list.h"

namespace sluice {

// Adds a warning, with advice, if the dataset is larger than its sources. Call it once both sizes
// are known.
void AddGrowth(const ConvertOptions& options, ConvertSummary& summary);

// "a.jpg, b.jpg and c.jpg"
std::string ExamplesText(const SomeImages& images);

// Adds warnings to `summary.warnings` about class counts, classes whose names look alike, small
// images, annotations of turned images, dim images, images that end early, and duplicates. `all`:
// the summary covers all samples, not only the first few.
void AddSuspicions(const SourceList& sources, const ConvertOptions& options, bool all,
                   ConvertSummary& summary);

// The content of skipped.tsv: a line of headings, then a line for each file with its path, a
// reason, and "broken" or "passed over". With Truncated::kWarn, files that gave a sample although
// they end early follow as "truncated". Sorted by the bytes of the paths. Cells are escaped as in
// ToTsvCell().
std::string SkippedTable(const ConvertSummary& summary, const ConvertOptions& options);

inline constexpr const char* kDuplicatesName = "duplicates.tsv";

// Groups of at least two sources whose images have the same bytes (by a 128-bit checksum). Groups
// and their members are in the order of the list. Reads a file only if another file has the same
// size. A file that cannot be read has no duplicates: the conversion reports what is wrong with it.
std::vector<std::vector<Duplicate>> FindDuplicates(const SourceList& sources, unsigned threads,
                                                   const std::stop_token& stop);

// A source of one of several lists.
struct ListedSource {
  std::size_t list = 0;
  std::size_t source = 0;
  auto operator<=>(const ListedSource&) const = default;
};

// Like FindDuplicates() over several lists; only groups with sources from more than one list.
std::vector<std::vector<ListedSource>> FindShared(const std::vector<SourceList>& lists,
                                                  unsigned threads, const std::stop_token& stop);

// The source's path as people see it, with the name of its class.
Duplicate NameDuplicate(const SourceList& sources, std::size_t source);

// A line of headings, then one for each file: the number of its group, path, class. Cells are
// escaped as ToTsvCell() does.
std::string DuplicatesTable(const std::vector<std::vector<Duplicate>>& groups);

// Like DuplicatesTable(), with a column for the name of the part before the path.
std::string SharedTable(const std::vector<std::vector<SharedImage>>& groups);

}  // namespace sluice
