// Which samples subsets contain, and that a missing shard ends an edit before it begins.
#include <algorithm>
#include <numeric>

#include <sluice/dataset_edit.h>
#include <sluice/dataset_writer.h>

#include "format/random.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

struct Numbered {
  TemporaryFolder folder;

  // Samples whose key is their number, of classes 0, 1, 2, 0, 1, ... 22 samples fill three shards.
  explicit Numbered(int samples) {
    Field label = Field::Label("label", {"a", "b", "c"});
    DatasetWriter writer(folder / "data", Schema{{Field::Image(), label}}, {"data", 1'000'000, 8});
    const std::vector<std::byte> pixels(40'000 * 3);
    for (int i = 0; i < samples; ++i) {
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      sample.SetPixels("image", 200, 200, 3, PixelType::kUint8, pixels);
      sample.Set<std::int32_t>("label", i % 3);
      writer.Add(sample);
    }
    writer.Finish();
  }

  std::vector<std::string> Take(const Selection& selection) const {
    std::filesystem::remove_all(folder / "taken");
    SubsetDataset(folder / "data", folder / "taken", selection);
    return ReadDataset(folder / "taken").Keys();
  }
};

// The keys of the samples that a textbook Fisher-Yates shuffle of the list puts into its first
// `count` places, in the order of their numbers. `stream`: 0, or for a choice per class the class
// plus 1.
std::vector<std::string> Drawn(std::vector<std::uint64_t> list, std::size_t count,
                               std::uint64_t seed, std::uint64_t stream) {
  RandomStream random(seed, Purpose::kSubset, stream);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(list[i], list[i + random.Below(list.size() - i)]);
  list.resize(count);
  std::sort(list.begin(), list.end());
  std::vector<std::string> keys;
  for (const std::uint64_t number : list)
    keys.push_back(std::to_string(number));
  return keys;
}

}  // namespace

TEST_CASE("a random choice takes the samples that a whole shuffle would put first") {
  const Numbered numbered(22);
  std::vector<std::uint64_t> all(22);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  CHECK(numbered.Take({.count = 9, .seed = 5}) == Drawn(all, 9, 5, 0));
  CHECK(numbered.Take({.count = 21}) == Drawn(all, 21, 0, 0));
  CHECK(numbered.Take({.classes = {"b"}, .count = 3, .seed = 2}) ==
        Drawn({1, 4, 7, 10, 13, 16, 19}, 3, 2, 0));
  CHECK(numbered.Take({.classes = {"c"}, .per_class = 4, .seed = 2}) ==
        Drawn({2, 5, 8, 11, 14, 17, 20}, 4, 2, 3));
  CHECK(numbered.Take({.classes = {"a", "b"}, .samples = {0, 1, 2, 3, 4, 5}}) ==
        std::vector<std::string>{"0", "1", "3", "4"});
  CHECK(numbered.Take({.per_class = 100}).size() == 22);
}

TEST_CASE("a missing shard ends an edit before it begins") {
  const Numbered numbered(22);
  const auto data = numbered.folder / "data";
  const auto out = numbered.folder / "out";
  REQUIRE(ReadDataset(data).manifest.shards.size() == 3);
  std::filesystem::remove(data / "shard-00002.sluice");
  const auto missing = ContainsSubstring("shard-00002.sluice");
  CHECK_THROWS_WITH(SubsetDataset(data, out, {.samples = {0}}), missing);
  CHECK_THROWS_WITH(MergeDatasets({data}, out), missing);
  CHECK_THROWS_WITH(TranscodeDataset(data, out), missing);
  CHECK_THROWS_WITH(RepackDataset(data), missing);
  CHECK_FALSE(std::filesystem::exists(out));
}

}  // namespace sluice::test
