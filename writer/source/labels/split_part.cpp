// "The last 10% for validation" is chosen class by class, by a number that depends on the seed and
// the sample's key alone. So when others come or go, a sample stays in its part, unless it is near
// the part's border in the order of these numbers. If the samples of one patient, say, must stay
// together, the column with the patient takes the key's place, and classes no longer matter.
#include "writer/source/labels/split_part.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/random.h"
#include "writer/text.h"

namespace sluice {

namespace {

// A number that depends only on the seed and the digest of a key or value, so that a source stays
// in its part when others come or go (except at a part's border).
std::uint64_t PlaceOf(std::uint64_t seed, std::uint64_t digest) {
  return RandomStream(seed, Purpose::kSplit, digest).Word64();
}

// How many of a class's `count` sources come before the fraction. `turn` (0 to 1) is added before
// rounding down. It differs between classes, so that one class gains what another loses and the
// parts of many small classes together get the size that was asked for.
std::size_t Border(double fraction, std::size_t count, double turn) {
  return static_cast<std::size_t>(std::floor(fraction * static_cast<double>(count) + turn));
}

// 0.5, then steps of the golden section, which spread any number of classes evenly.
double NextTurn(double turn) {
  const double next = turn + 0.618033988749895;
  return next - std::floor(next);
}

// The sources of the part, class by class.
std::vector<std::size_t> TakenByClass(const SplitPart& split, const SourceList& list) {
  std::map<std::int32_t, std::vector<std::size_t>> of_class;
  std::vector<std::uint64_t> places(list.sources.size());
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    places[i] = PlaceOf(split.seed, Hash64(AsBytes(list.sources[i].key)));
    of_class[list.sources[i].label].push_back(i);
  }
  std::vector<std::size_t> taken;
  double turn = 0.5;
  for (auto& [label, members] : of_class) {
    std::stable_sort(members.begin(), members.end(),
                     [&places](std::size_t a, std::size_t b) { return places[a] < places[b]; });
    const auto begin = static_cast<std::ptrdiff_t>(Border(split.begin, members.size(), turn));
    const auto end = static_cast<std::ptrdiff_t>(Border(split.end, members.size(), turn));
    turn = NextTurn(turn);
    taken.insert(taken.end(), members.begin() + begin, members.begin() + end);
  }
  return taken;
}

// The sources of the part. All sources with the same value of SplitPart::by stay together: the
// values lie on a line in the order of their places, each as long as it has sources, and the part
// has the values whose middle lies in it.
std::vector<std::size_t> TakenByValue(const SplitPart& split, const SourceList& list) {
  std::map<std::uint64_t, std::vector<std::size_t>> of_place;
  for (std::size_t i = 0; i < list.sources.size(); ++i)
    of_place[PlaceOf(split.seed, list.sources[i].split_value)].push_back(i);
  std::vector<std::size_t> taken;
  double before = 0;
  for (const auto& [place, members] : of_place) {
    const auto count = static_cast<double>(members.size());
    const double middle = (before + count / 2) / static_cast<double>(list.sources.size());
    before += count;
    if (middle < split.begin || middle >= split.end) continue;
    taken.insert(taken.end(), members.begin(), members.end());
  }
  return taken;
}

}  // namespace

void TakeSplit(const ConvertSource& source, SourceList& list) {
  const bool by_value = !source.split.by.empty();
  std::vector<std::size_t> taken =
      by_value ? TakenByValue(source.split, list) : TakenByClass(source.split, list);
  std::sort(taken.begin(), taken.end());
  if (taken.empty()) {
    const std::filesystem::path place = !source.table.empty()      ? source.table
                                        : !source.archives.empty() ? source.archives.front()
                                                                   : list.root;
    throw Error(ErrorCode::kNotFound, place.string(),
                std::string(by_value ? "has too few values in the column \"" +
                                           ToUtf8(source.split.by) + "\""
                                     : "has too few images") +
                    ": a part of this split would get none");
  }
  std::vector<Source> sources;
  SourceValues values;
  for (const std::size_t i : taken) {
    for (std::size_t f = 0; f < list.fields.size() && !list.values.empty(); ++f)
      values.Add(list.Value(i, f));
    sources.push_back(std::move(list.sources[i]));
  }
  list.sources = std::move(sources);
  list.values = std::move(values);
  if (source.split.begin == 0) return;  // only this part lists the faulty sources of all parts
  list.broken.clear();
  list.passed_over.clear();
}

}  // namespace sluice
