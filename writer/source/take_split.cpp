#include "writer/source/take_split.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/random.h"

namespace sluice {

namespace {

// A number that depends only on the seed and the key, so that a source stays in its part when
// others come or go (except at a part's border).
std::uint64_t PlaceOf(std::uint64_t seed, const std::string& key) {
  return RandomStream(seed, Purpose::kSplit, Hash64(AsBytes(key))).Word64();
}

// How many of a class's `count` sources come before the fraction. `turn` (0 to 1) is what is added
// before rounding down: different ones by class, so that what is lost in one is gained in another,
// and the parts of many small classes come out as large as was asked for.
std::size_t Border(double fraction, std::size_t count, double turn) {
  return static_cast<std::size_t>(std::floor(fraction * static_cast<double>(count) + turn));
}

// 0.5, then steps of the golden section, which spread any number of classes evenly.
double NextTurn(double turn) {
  const double next = turn + 0.618033988749895;
  return next - std::floor(next);
}

}  // namespace

void TakeSplit(const ConvertSource& source, SourceList& list) {
  std::map<std::int32_t, std::vector<std::size_t>> of_class;
  std::vector<std::uint64_t> places(list.sources.size());
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    places[i] = PlaceOf(source.split_seed, list.sources[i].key);
    of_class[list.sources[i].label].push_back(i);
  }
  std::vector<std::size_t> taken;
  double turn = 0.5;
  for (auto& [label, members] : of_class) {
    std::stable_sort(members.begin(), members.end(),
                     [&places](std::size_t a, std::size_t b) { return places[a] < places[b]; });
    const auto begin =
        static_cast<std::ptrdiff_t>(Border(source.split_begin, members.size(), turn));
    const auto end = static_cast<std::ptrdiff_t>(Border(source.split_end, members.size(), turn));
    turn = NextTurn(turn);
    taken.insert(taken.end(), members.begin() + begin, members.begin() + end);
  }
  std::sort(taken.begin(), taken.end());
  if (taken.empty()) {
    throw Error(ErrorCode::kNotFound, list.root.string(),
                "has too few images: a part of this split would get none");
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
  if (source.split_begin == 0) return;
  list.broken.clear();
  list.passed_over.clear();
}

}  // namespace sluice
