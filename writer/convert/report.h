// The messages of a conversion besides its numbers: warnings, the table of sources left out, and
// sources that hold the same bytes.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert.h>

#include "writer/source/list/source_list.h"

namespace sluice {

// Warns of a dataset that is larger than its sources, with what would make it smaller. Call it once
// both sizes are known.
void AddGrowth(const ConvertOptions& options, ConvertSummary& summary);

// "a.jpg, b.jpg and c.jpg"
std::string ExamplesText(const SomeImages& images);

// Adds warnings to `summary.warnings` about its class counts, small images, annotations of turned
// images, and duplicates. `all`: the summary is of all samples, not of the first few.
void AddSuspicions(const SourceList& sources, const ConvertOptions& options, bool all,
                   ConvertSummary& summary);

// A line of headings, then one for each file: path, reason, and "broken" or "passed over". With
// Truncated::kWarn also the files that gave a sample although they end early: "truncated". Sorted
// by the bytes of the paths. Cells are escaped as in ToTsvCell().
std::string SkippedTable(const ConvertSummary& summary, const ConvertOptions& options);

inline constexpr const char* kDuplicatesName = "duplicates.tsv";

// Sources whose images have the same bytes (by a 128-bit checksum), at least two to a group. Groups
// and their members are in the order of the list. Reads only files whose size another file has as
// well. A file that cannot be read has no duplicates: the conversion reports what is wrong with it.
std::vector<std::vector<Duplicate>> FindDuplicates(const SourceList& sources, unsigned threads,
                                                   const std::stop_token& stop);

// A source of one of several lists.
struct ListedSource {
  std::size_t list = 0;
  std::size_t source = 0;
  auto operator<=>(const ListedSource&) const = default;
};

// As above, only groups with sources from more than one list.
std::vector<std::vector<ListedSource>> FindShared(const std::vector<SourceList>& lists,
                                                  unsigned threads, const std::stop_token& stop);

// The source for people, with the name of its class.
Duplicate NameDuplicate(const SourceList& sources, std::size_t source);

// A line of headings, then one for each file: the number of its group, path, class. Cells are
// escaped as ToTsvCell() does.
std::string DuplicatesTable(const std::vector<std::vector<Duplicate>>& groups);

// As above, with the name of the part before the path.
std::string SharedTable(const std::vector<std::vector<SharedImage>>& groups);

}  // namespace sluice
