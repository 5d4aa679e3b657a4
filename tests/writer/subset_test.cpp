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

TEST_CASE("without a label, samples are chosen by the classes of their boxes") {
  const TemporaryFolder folder;
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  Field classes = Field::Variable("classes", DType::kInt32, {});
  classes.role = Role::kLabel;
  classes.classes = {"star", "moon", "sun"};
  boxes.follows = classes.follows = "image";
  DatasetWriter writer(folder / "data", Schema{{Field::Image(), boxes, classes}},
                       {"data", 1'000'000, 4});
  const std::vector<std::byte> pixels(30 * 20 * 3);
  // Samples 0, 3, 6, ... have a star and a moon; 1, 4, ... two moons and a sun; 2, 5, ... no box.
  const std::vector<std::int32_t> kinds[] = {{1, 0}, {1, 2, 1}, {}};
  for (int i = 0; i < 15; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    sample.SetPixels("image", 30, 20, 3, PixelType::kUint8, pixels);
    const std::vector<std::int32_t>& of = kinds[i % 3];
    std::vector<float> corners;
    for (std::size_t box = 0; box < of.size(); ++box)
      corners.insert(corners.end(), {1, 1, 9, 9});
    sample.SetArray<float>("boxes", corners);
    sample.SetArray<std::int32_t>("classes", of);
    writer.Add(sample);
  }
  writer.Finish();
  const auto take = [&](const Selection& selection) {
    std::filesystem::remove_all(folder / "taken");
    SubsetDataset(folder / "data", folder / "taken", selection);
    return ReadDataset(folder / "taken").Keys();
  };
  using Keys = std::vector<std::string>;
  CHECK(take({.classes = {"star"}}) == Keys{"0", "3", "6", "9", "12"});
  CHECK(take({.classes = {"sun"}, .samples = {1, 2, 3, 4}}) == Keys{"1", "4"});
  CHECK(take({.classes = {"moon", "sun"}}).size() == 10);
  CHECK(take({.classes = {"moon"}, .count = 4, .seed = 3}) ==
        Drawn({0, 1, 3, 4, 6, 7, 9, 10, 12, 13}, 4, 3, 0));
  CHECK(take({.classes = {"sun"}, .per_class = 2, .seed = 5}) == Drawn({1, 4, 7, 10, 13}, 2, 5, 3));
  CHECK(take({.per_class = 100}).size() == 10);
  CHECK_THROWS_WITH(take({.classes = {"stars"}}), ContainsSubstring("has no class \"stars\""));
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
