// Warnings are about sources that can be converted but are probably not what the user meant:
// classes of very different sizes, small images, annotations that were drawn on turned images, a
// dataset larger than its sources, and the like.
//
// Duplicates are found by size first: only files of the same size are read and compared, by a
// 128-bit checksum.
#include "writer/convert/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/system_error.h"
#include "format/parallel.h"
#include "writer/source/list/alike.h"
#include "writer/source/list/store_files.h"
#include "writer/source/read_source.h"
#include "writer/text.h"

namespace sluice {

namespace {

// If the largest class has at least this many times the samples of the smallest, a training usually
// needs weights for the classes, or the classes were put together by mistake.
constexpr std::uint64_t kUnevenRatio = 10;

std::string ClassText(const ConvertSummary& summary, std::size_t number) {
  return "class " + std::to_string(number) + " (" + summary.classes[number] + ")";
}

// If class names are numbers, thousands of classes may be empty.
void AddEmptyClasses(ConvertSummary& summary) {
  constexpr std::size_t kMaxNamed = 8;
  std::vector<std::size_t> empty;
  for (std::size_t c = 0; c < summary.class_counts.size(); ++c) {
    if (summary.class_counts[c] == 0) empty.push_back(c);
  }
  if (empty.size() > kMaxNamed) {
    summary.warnings.push_back(std::to_string(empty.size()) + " classes have no samples, such as " +
                               ClassText(summary, empty[0]) + "; they keep their numbers");
    return;
  }
  for (const std::size_t c : empty)
    summary.warnings.push_back(ClassText(summary, c) + " has no samples; it keeps its number");
}

void AddClasses(ConvertSummary& summary) {
  AddEmptyClasses(summary);
  std::size_t least = summary.class_counts.size();
  std::size_t most = least;
  for (std::size_t c = 0; c < summary.class_counts.size(); ++c) {
    const std::uint64_t count = summary.class_counts[c];
    if (count == 0) continue;
    if (least == summary.class_counts.size() || count < summary.class_counts[least]) least = c;
    if (most == summary.class_counts.size() || count > summary.class_counts[most]) most = c;
  }
  if (most == summary.class_counts.size()) return;
  const std::uint64_t fewest = summary.class_counts[least];
  const std::uint64_t largest = summary.class_counts[most];
  if (largest / kUnevenRatio < fewest) return;
  summary.warnings.push_back("the classes are very uneven: " + ClassText(summary, least) + " has " +
                             std::to_string(fewest) + (fewest == 1 ? " sample, " : " samples, ") +
                             ClassText(summary, most) + " " + std::to_string(largest));
}

void AddSmaller(const ConvertOptions& options, ConvertSummary& summary) {
  if (summary.smaller == 0) return;
  const bool one = summary.smaller == 1;
  std::string text = std::to_string(summary.smaller) + (one ? " image is" : " images are");
  text += " smaller than ";
  if (options.geometry.size) {
    text += std::to_string(options.geometry.size->width) + "x" +
            std::to_string(options.geometry.size->height) + " and w" + (one ? "as" : "ere") +
            " enlarged";
  } else {
    text += std::to_string(options.geometry.short_side.value_or(0)) +
            " pixels on the shorter side and " + (one ? "stays" : "stay") + " so";
  }
  summary.warnings.push_back(text);
}

// If annotations are read in the wrong orientation, they miss their objects, and no size shows it.
void AddTurned(const SourceList& sources, bool all, ConvertSummary& summary) {
  if (summary.turned.count == 0 || sources.upright) return;
  const bool one = summary.turned.count == 1;
  summary.warnings.push_back(
      (all ? "" : "at least ") + std::to_string(summary.turned.count) +
      (one ? " image is" : " images are") + " turned or mirrored by " + (one ? "its" : "their") +
      " orientation (Exif) and " + (one ? "has" : "have") +
      " boxes, masks or key points, such as " + ExamplesText(summary.turned) +
      ": these are taken as drawn on the upright image. If they were drawn on the image as its "
      "file stores it, convert with --as-stored (upright = false); --upright (true) "
      "confirms this and ends the warning");
}

// Values are scaled to 8 bits by the range of the file's pixel type, not by the range that is used.
void AddDim(bool all, ConvertSummary& summary) {
  if (summary.dim.count == 0) return;
  const bool one = summary.dim.count == 1;
  summary.warnings.push_back(
      (all ? "" : "at least ") + std::to_string(summary.dim.count) +
      (one ? " image has" : " images have") + " more than 8 bits a value and " +
      (one ? "uses" : "use") + " less than a quarter of the range, such as " +
      ExamplesText(summary.dim) +
      ": in 8 bits, values of at most 63 of 255 are left, nearly black. Scale such images to the "
      "whole range before converting (16-bit files that hold 12 bits: by 16)");
}

void AddTruncated(const ConvertOptions& options, bool all, ConvertSummary& summary) {
  if (options.form.truncated != Truncated::kWarn || summary.truncated.empty()) return;
  const std::size_t count = summary.truncated.size();
  const LeftOut& first = summary.truncated.front();
  summary.warnings.push_back((count == 1 ? "an image ends early and was"
                                         : std::to_string(count) + " images end early and were") +
                             std::string(" taken as far as ") +
                             (count == 1 ? "it goes" : "they go") + ", such as " +
                             ToUtf8(first.path) + " (" + first.reason + "); " +
                             (all ? "see skipped.tsv" : "more may follow"));
}

void AddDuplicates(ConvertSummary& summary) {
  const auto across = std::count_if(
      summary.duplicates.begin(), summary.duplicates.end(),
      [](const std::vector<Duplicate>& group) {
        return std::any_of(group.begin(), group.end(), [&group](const Duplicate& file) {
          return file.class_name != group.front().class_name;
        });
      });
  if (across == 0) return;
  summary.warnings.push_back(std::to_string(across) + (across == 1 ? " image is" : " images are") +
                             " in more than one class with the same bytes");
}

}  // namespace

std::string ExamplesText(const SomeImages& images) {
  std::string text;
  for (std::size_t i = 0; i < images.examples.size(); ++i) {
    const bool last = i + 1 == images.examples.size();
    text += (i == 0                          ? ""
             : last && i + 1 == images.count ? " and "
                                             : ", ") +
            ToUtf8(images.examples[i]);
  }
  return text;
}

void AddGrowth(const ConvertOptions& options, ConvertSummary& summary) {
  // Pages and directories make small datasets larger than their sources, which needs no warning.
  constexpr std::uint64_t kOverhead = 1'000'000;
  if (options.form.pixels == PixelValues::kKeep) return;  // no option makes these smaller
  // So do restart markers, which make the decoding of crops cheaper.
  if (summary.bytes_out <= summary.bytes_in + summary.bytes_in / 10 + kOverhead) return;
  std::string advice;
  switch (options.form.image) {
    case ImageCodec::kRaw: advice = "--image jpeg or packed"; break;
    case ImageCodec::kPacked: advice = "--image jpeg, which takes 0.7 of packed"; break;
    case ImageCodec::kJpeg:
      advice = "a --quality below " + std::to_string(options.form.quality);
      if (!options.form.keep)
        advice += ", --quality keep where sources are JPEGs of the right size";
      break;
  }
  const auto per_cent =
      std::llround(100.0 * static_cast<double>(summary.bytes_out) /
                   static_cast<double>(std::max<std::uint64_t>(summary.bytes_in, 1)));
  summary.warnings.push_back("the dataset takes " + std::to_string(per_cent) +
                             "% of the bytes of its sources; to make it smaller, use " + advice +
                             ", or fewer pixels (--max-side, --short-side)");
}

// Warns of two classes whose names look alike, such as names of folders from a Mac and from another
// system.
void AddAlikeClasses(ConvertSummary& summary) {
  std::map<std::string, const std::string*> names;
  for (const std::string& name : summary.classes) {
    const auto [first, is_new] = names.emplace(Decomposed(name), &name);
    if (is_new) continue;
    summary.warnings.push_back(
        "two classes are called " + name +
        ": one name has accented letters as single characters, the other as letters followed by "
        "accents, as Macs write them; rename one to make them one class");
    return;
  }
}

void AddSuspicions(const SourceList& sources, const ConvertOptions& options, bool all,
                   ConvertSummary& summary) {
  AddClasses(summary);
  AddAlikeClasses(summary);
  AddSmaller(options, summary);
  AddTurned(sources, all, summary);
  AddDim(all, summary);
  AddTruncated(options, all, summary);
  AddDuplicates(summary);
}

std::string SkippedTable(const ConvertSummary& summary, const ConvertOptions& options) {
  struct Row {
    const LeftOut* file;
    const char* kind;
  };
  std::vector<Row> rows;
  const auto add = [&rows](const std::vector<LeftOut>& files, const char* kind) {
    for (const LeftOut& file : files)
      rows.push_back({&file, kind});
  };
  add(summary.skipped, "broken");
  add(summary.passed_over, "passed over");
  if (options.form.truncated == Truncated::kWarn) add(summary.truncated, "truncated");
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.file->path < b.file->path; });
  std::string table = "path\treason\tkind\n";
  for (const Row& row : rows) {
    table +=
        ToTsvCell(row.file->path) + '\t' + ToTsvCell(row.file->reason) + '\t' + row.kind + '\n';
  }
  return table;
}

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

  // Whether sources with one size, or one content, are a group to be reported.
  bool Counts(Group::const_iterator begin, Group::const_iterator end) const {
    return end - begin > 1 && (!across_ || IsOfSeveralLists(begin, end));
  }

  // The sources that have the same size as another source, ordered by size.
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

std::vector<std::vector<Duplicate>> FindDuplicates(const SourceList& sources, unsigned threads,
                                                   const std::stop_token& stop) {
  std::vector<std::vector<Duplicate>> groups;
  for (const Group& group : DuplicateSearch({&sources}, false).Run(threads, stop)) {
    groups.emplace_back();
    for (const ListedSource& one : group)
      groups.back().push_back(NameDuplicate(sources, one.source));
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
