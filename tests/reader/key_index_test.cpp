// Samples found by their key.
#include <atomic>
#include <fstream>
#include <thread>

#include "tests/file_content.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Shards of 1 MB hold about 80 pictures each.
std::filesystem::path WriteKeys(const TemporaryFolder& folder,
                                const std::vector<std::string>& keys) {
  const std::filesystem::path path = folder / "keys";
  DatasetWriter writer(path, {{Field::Image(), Field::Label()}}, {"keys", 1'000'000, 16});
  const std::vector<std::uint8_t> pixels(64 * 64 * 3, 7);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    SampleBuilder sample = writer.NewSample(keys[i]);
    sample.SetPixels("image", 64, 64, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int32_t>("label", static_cast<std::int32_t>(i));
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

// Keys that all differ (if 7919, a prime, does not divide their number) and are not sorted.
std::vector<std::string> NumberedKeys(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i)
    keys.push_back("folder " + std::to_string(i * 7919 % count) + "/photo.jpg");
  return keys;
}

}  // namespace

TEST_CASE("Every sample is found by its key, in all shards") {
  const TemporaryFolder folder;
  const std::vector<std::string> keys = NumberedKeys(200);
  const Dataset dataset = Dataset::Open(WriteKeys(folder, keys));
  REQUIRE(dataset.shards().size() > 1);
  for (std::size_t i = 0; i < keys.size(); ++i)
    REQUIRE(dataset.Find(keys[i]) == i);
  CHECK(dataset.Find("folder 1") == std::nullopt);
  CHECK(dataset.Find("folder 1/photo.jpg ") == std::nullopt);
  CHECK(dataset.Find("") == std::nullopt);
}

TEST_CASE("If samples share a key, the first is found") {
  const TemporaryFolder folder;
  std::vector<std::string> keys = NumberedKeys(200);
  keys[3] = keys[5] = keys[199] = "the same";
  keys[0].clear();
  const Dataset dataset = Dataset::Open(WriteKeys(folder, keys));
  CHECK(dataset.Find("the same") == 3);
  CHECK(dataset.Find("") == 0);
}

TEST_CASE("Threads that look up keys at once all find them") {
  const TemporaryFolder folder;
  const std::vector<std::string> keys = NumberedKeys(200);
  const Dataset dataset = Dataset::Open(WriteKeys(folder, keys));
  std::atomic<std::size_t> found{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < keys.size(); i += 4)
          found += dataset.Find(keys[i]) == i ? 1 : 0;
      });
    }
  }
  CHECK(found == 200);
}

TEST_CASE("Keys in readable shards are found while another shard is missing") {
  const TemporaryFolder folder;
  std::vector<std::string> keys = NumberedKeys(200);
  keys[5] = keys[199];  // in the first shard and in the last
  const std::filesystem::path path = WriteKeys(folder, keys);
  const Dataset dataset = Dataset::Open(path);
  REQUIRE(dataset.shards().size() == 3);
  const std::string first = dataset.shards().front().file;
  std::filesystem::rename(path / first, path / "away");
  CHECK(dataset.Find(keys[150]) == 150);
  CHECK(dataset.Find(keys[199]) == 199);
  std::filesystem::rename(path / "away", path / first);
  CHECK(dataset.Find(keys[0]) == 0);
  CHECK(dataset.Find(keys[199]) == 5);
  CHECK(dataset.Find("nobody's") == std::nullopt);
}

TEST_CASE("If no readable shard has the key, the error names the shard that may have it") {
  const TemporaryFolder folder;
  const std::vector<std::string> keys = NumberedKeys(200);
  const std::filesystem::path path = WriteKeys(folder, keys);
  const Dataset dataset = Dataset::Open(path);
  const std::string shard = dataset.shards().back().file;
  std::filesystem::rename(path / shard, path / "away");
  for (const std::string& key : {keys[199], std::string("nobody's"), keys[199]}) {
    CHECK_THAT(
        ErrorText([&] { dataset.Find(key); }, ErrorCode::kNotFound),
        ContainsSubstring(shard) && ContainsSubstring("the key is in none of the readable shards"));
  }
  std::filesystem::rename(path / "away", path / shard);
  CHECK(dataset.Find(keys[199]) == 199);
  CHECK(dataset.Find("nobody's") == std::nullopt);
}

TEST_CASE("A shard whose keys are damaged is skipped like a missing one") {
  const TemporaryFolder folder;
  const std::vector<std::string> keys = NumberedKeys(200);
  const std::filesystem::path path = WriteKeys(folder, keys);
  const Dataset dataset = Dataset::Open(path);
  const std::filesystem::path shard = path / dataset.shards()[1].file;
  const std::size_t keys_frame = ContentOf(shard).find("\x28\xB5\x2F\xFD");  // zstd's magic number
  REQUIRE(keys_frame != std::string::npos);
  std::fstream(shard, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(keys_frame))
      .put('?');
  CHECK(dataset.Find(keys[0]) == 0);
  CHECK(dataset.Find(keys[199]) == 199);
  CHECK_THAT(ErrorText([&] { dataset.Find(keys[100]); }, ErrorCode::kCorrupt),
             ContainsSubstring(dataset.shards()[1].file) && ContainsSubstring("keys"));
}
