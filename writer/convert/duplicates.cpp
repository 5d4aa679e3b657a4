#include "writer/convert/duplicates.h"

#include <algorithm>
#include <map>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/system_error.h"
#include "format/parallel.h"
#include "writer/source/list/store_files.h"
#include "writer/text.h"

namespace sluice {

namespace {

using Group = std::vector<ListedSource>;

bool IsOfSeveralLists(Group::const_iterator begin, Group::const_iterator end) {
  return std::any_of(begin, end,
                     [begin](const ListedSource& one) { return one.list != begin->list; });
}

class DuplicateSearch {
 public:
  // `across`: only groups with sources from more than one list.
  DuplicateSearch(std::vector<const SourceList*> lists, bool across)
      : lists_(std::move(lists)), across_(across) {}

  std::vector<Group> Run(unsigned threads, const std::stop_token& stop) const {
    const Group candidates = WithEqualSizes();
    std::vector<std::optional<Id128>> digests(candidates.size());
    std::vector<std::vector<std::byte>> files(threads);
    ParallelFor(threads, candidates.size(), stop, [&](unsigned worker, std::size_t i) {
      try {
        ReadImageFile(*lists_[candidates[i].list], candidates[i].source, files[worker]);
        digests[i] = Hash128(files[worker]);
      } catch (const StoreFault&) {
        throw;
      } catch (const Error& error) {
        if (IsShortage(error)) throw;
        digests[i].reset();
      }
    });
    if (stop.stop_requested()) ThrowStopped();
    std::map<std::pair<std::uint64_t, std::string>, Group> by_content;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (digests[i])
        by_content[{BytesOf(candidates[i]), ToHex(*digests[i])}].push_back(candidates[i]);
    }
    std::vector<Group> groups;
    for (auto& [content, group] : by_content) {
      if (Counts(group.begin(), group.end())) groups.push_back(std::move(group));
    }
    std::sort(groups.begin(), groups.end());
    return groups;
  }

 private:
  std::uint64_t BytesOf(const ListedSource& one) const {
    return lists_[one.list]->sources[one.source].bytes;
  }

  bool Counts(Group::const_iterator begin, Group::const_iterator end) const {
    return end - begin > 1 && (!across_ || IsOfSeveralLists(begin, end));
  }

  // The sources whose size another source has as well, ordered by size.
  Group WithEqualSizes() const {
    Group order;
    for (std::size_t list = 0; list < lists_.size(); ++list) {
      for (std::size_t source = 0; source < lists_[list]->sources.size(); ++source)
        order.push_back({list, source});
    }
    std::stable_sort(
        order.begin(), order.end(),
        [this](const ListedSource& a, const ListedSource& b) { return BytesOf(a) < BytesOf(b); });
    Group equal;
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end = std::find_if(begin, order.end(), [&](const ListedSource& one) {
        return BytesOf(one) != BytesOf(*begin);
      });
      if (Counts(begin, end)) equal.insert(equal.end(), begin, end);
      begin = end;
    }
    return equal;
  }

  std::vector<const SourceList*> lists_;
  bool across_;
};

}  // namespace

std::vector<std::vector<std::size_t>> FindDuplicates(const SourceList& sources, unsigned threads,
                                                     const std::stop_token& stop) {
  std::vector<std::vector<std::size_t>> groups;
  for (const Group& group : DuplicateSearch({&sources}, false).Run(threads, stop)) {
    groups.emplace_back();
    for (const ListedSource& one : group)
      groups.back().push_back(one.source);
  }
  return groups;
}

std::vector<std::vector<ListedSource>> FindShared(const std::vector<SourceList>& lists,
                                                  unsigned threads, const std::stop_token& stop) {
  std::vector<const SourceList*> pointers;
  for (const SourceList& list : lists)
    pointers.push_back(&list);
  return DuplicateSearch(std::move(pointers), true).Run(threads, stop);
}

std::vector<std::vector<Duplicate>> NameDuplicates(
    const SourceList& sources, const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<std::vector<Duplicate>> named;
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<Duplicate>& names = named.emplace_back();
    for (const std::size_t i : group)
      names.push_back(NameDuplicate(sources, i));
  }
  return named;
}

Duplicate NameDuplicate(const SourceList& sources, std::size_t i) {
  if (!sources.labelled) return {sources.KeyForPeople(i), {}};
  return {sources.KeyForPeople(i),
          sources.classes.at(static_cast<std::size_t>(sources.sources[i].label))};
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

std::string SharedTable(const std::vector<std::vector<SharedImage>>& groups) {
  std::string table = "group\tpart\tpath\tclass\n";
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const SharedImage& image : groups[g]) {
      table += std::to_string(g) + '\t' + ToTsvCell(image.part) + '\t' +
               ToTsvCell(image.file.path) + '\t' + ToTsvCell(image.file.class_name) + '\n';
    }
  }
  return table;
}

}  // namespace sluice
