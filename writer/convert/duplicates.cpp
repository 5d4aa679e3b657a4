#include "writer/convert/duplicates.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "writer/parallel.h"
#include "writer/text.h"

namespace sluice {

namespace {

// Indices of sources that share their size with another one, by size.
std::vector<std::size_t> WithEqualSizes(const SourceList& list) {
  std::vector<std::size_t> order(list.sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto bytes = [&list](std::size_t i) { return list.sources[i].bytes; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bytes(a) < bytes(b); });
  std::vector<std::size_t> equal;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool before = i > 0 && bytes(order[i - 1]) == bytes(order[i]);
    const bool behind = i + 1 < order.size() && bytes(order[i + 1]) == bytes(order[i]);
    if (before || behind) equal.push_back(order[i]);
  }
  return equal;
}

}  // namespace

std::vector<std::vector<std::size_t>> FindDuplicates(const SourceList& sources, unsigned threads,
                                                     const std::stop_token& stop) {
  const std::vector<std::size_t> candidates = WithEqualSizes(sources);
  std::vector<std::optional<Id128>> digests(candidates.size());
  std::vector<std::vector<std::byte>> files(threads);
  ParallelFor(threads, candidates.size(), stop, [&](unsigned worker, std::size_t i) {
    try {
      ReadImageFile(sources, candidates[i], files[worker]);
      digests[i] = Hash128(files[worker]);
    } catch (const Error&) {
      digests[i].reset();
    }
  });
  if (stop.stop_requested()) ThrowStopped();
  std::map<std::pair<std::uint64_t, std::string>, std::vector<std::size_t>> by_content;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!digests[i]) continue;
    by_content[{sources.sources[candidates[i]].bytes, ToHex(*digests[i])}].push_back(candidates[i]);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [content, group] : by_content) {
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::vector<std::vector<Duplicate>> NameDuplicates(
    const SourceList& sources, const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<std::vector<Duplicate>> named;
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<Duplicate>& names = named.emplace_back();
    for (const std::size_t i : group) {
      names.push_back({sources.KeyForPeople(i),
                       sources.labelled
                           ? sources.classes.at(static_cast<std::size_t>(sources.sources[i].label))
                           : std::string()});
    }
  }
  return named;
}

std::string DuplicatesTable(const std::vector<std::vector<Duplicate>>& groups) {
  std::string table = "group\tpath\tclass\n";
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const Duplicate& file : groups[g]) {
      table += std::to_string(g) + '\t' + ToTsvCell(file.path) + '\t' + ToTsvCell(file.class_name) +
               '\n';
    }
  }
  return table;
}

}  // namespace sluice
