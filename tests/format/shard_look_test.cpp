// A quick check of all shards of a dataset, which does not read them whole.
#include "format/disk/shard_look.h"

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/shard.h"
#include "tests/catch.h"
#include "tests/format/example.h"
#include "tests/temporary_folder.h"

namespace sluice {

namespace {

using Catch::Matchers::ContainsSubstring;

// A dataset of two shards. A test may change the second one.
struct TwoShards {
  TwoShards() {
    const test::ExampleDataset example = test::VariedExample();
    shards = {example.shards.at(0), example.shards.at(0)};
    shards[1].entry.file = "b.sluice";
    shards[0].entry.file = "a.sluice";
    manifest.shards = {shards[0].entry, shards[1].entry};
    for (const test::BuiltShard& shard : shards)
      WriteFile(folder / shard.entry.file, shard.bytes);
  }

  void ChangeSecond(std::size_t bytes, std::size_t at = 0, std::byte mask = {}) {
    std::vector<std::byte> changed = shards[1].bytes;
    changed.resize(bytes);
    changed.at(at) ^= mask;
    WriteFile(folder / "b.sluice", changed);
  }

  ShardsLook Look() const { return LookAtShards(folder.path(), manifest); }

  test::TemporaryFolder folder;
  std::vector<test::BuiltShard> shards;
  Manifest manifest;
};

}  // namespace

TEST_CASE("shards that match the manifest have no fault") {
  const TwoShards dataset;
  const ShardsLook look = dataset.Look();
  CHECK(look.shards == 0);
  CHECK(look.samples == 0);
  CHECK(look.errors.empty());
  CHECK(look.faulty == std::vector<bool>{false, false});
}

TEST_CASE("a missing shard is one fault, and its samples are counted") {
  TwoShards dataset;
  dataset.manifest.shards[1].samples = 1'000'000'000;
  std::filesystem::remove(dataset.folder / "b.sluice");
  const ShardsLook look = dataset.Look();
  CHECK(look.shards == 1);
  CHECK(look.samples == 1'000'000'000);
  CHECK(look.faulty == std::vector<bool>{false, true});
  REQUIRE(look.errors.size() == 1);
  CHECK(look.errors[0].code() == ErrorCode::kNotFound);
  CHECK_THAT(look.errors[0].file(), ContainsSubstring("b.sluice"));
}

TEST_CASE("a shard that was truncated or replaced, or whose header was changed, is found") {
  TwoShards dataset;
  const std::size_t whole = dataset.shards[1].bytes.size();
  const auto sentence = [&] {
    const ShardsLook look = dataset.Look();
    REQUIRE(look.errors.size() == 1);
    CHECK(look.errors[0].code() == ErrorCode::kCorrupt);
    return look.errors[0].sentence();
  };
  dataset.ChangeSecond(whole - 1);
  CHECK_THAT(sentence(), ContainsSubstring("the manifest says " + std::to_string(whole)));
  dataset.ChangeSecond(whole, 0, std::byte{1});
  CHECK_THAT(sentence(), ContainsSubstring("is not a Sluice shard"));
  dataset.ChangeSecond(whole, 24, std::byte{1});
  CHECK_THAT(sentence(), ContainsSubstring("header's checksum"));
  dataset.ChangeSecond(whole);
  dataset.manifest.shards[1].id = test::IdOf(77);
  CHECK_THAT(sentence(), ContainsSubstring("is not the shard that the manifest names"));
}

TEST_CASE("only the errors of the first kMaxKept faulty shards are kept") {
  TwoShards dataset;
  dataset.manifest.shards.assign(1000, dataset.manifest.shards[0]);
  for (ManifestShard& shard : dataset.manifest.shards)
    shard.file = "gone.sluice";
  const ShardsLook look = dataset.Look();
  CHECK(look.shards == 1000);
  CHECK(look.errors.size() == ShardsLook::kMaxKept);
}

}  // namespace sluice
