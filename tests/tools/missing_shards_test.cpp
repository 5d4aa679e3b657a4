// Commands that go through all samples, on datasets with missing shards or many damaged samples.
#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>

#include "tests/file_content.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

using Catch::Matchers::ContainsSubstring;

// Raw pictures of three channels. All numbers of picture i are i.
void WritePictures(const std::string& data, std::uint32_t side, int count) {
  DatasetWriterOptions options;
  options.shard_bytes = 1'000'000;
  DatasetWriter writer(data, {{Field::Image()}}, options);
  for (int i = 0; i < count; ++i) {
    const std::vector<std::uint8_t> pixels(std::size_t{3} * side * side,
                                           static_cast<std::uint8_t>(i));
    SampleBuilder sample = writer.NewSample("k" + std::to_string(i));
    sample.SetPixels("image", side, side, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    writer.Add(sample);
  }
  writer.Finish();
}

}  // namespace

TEST_CASE("a missing shard is named once, and its samples are counted") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WritePictures(data, 300, 9);  // 270,000 bytes each: three per shard
  const Dataset dataset = Dataset::Open(data);
  REQUIRE(dataset.shards().size() >= 3);
  const ShardSummary& lost = dataset.shards()[1];
  std::filesystem::remove(folder / "data" / lost.file);
  const std::uint64_t left = dataset.size() - lost.samples;

  const Outcome stats = Sluice({"stats", data, "--json"});
  CHECK(stats.exit_code == 1);
  const nlohmann::json counted = JsonOf(stats);
  CHECK(counted["pixels"] == left * 300 * 300);
  REQUIRE(counted["damaged"].size() == 1);
  CHECK_THAT(counted["damaged"][0].get<std::string>(), ContainsSubstring(lost.file));
  CHECK(counted["damaged_samples"] == lost.samples);

  const Outcome exported = Sluice({"export", data, (folder / "out").string(), "--json"});
  CHECK(exported.exit_code == 3);
  const nlohmann::json out = JsonOf(exported);
  CHECK(out["samples"] == left);
  CHECK(out["left_out"] == lost.samples);
  REQUIRE(out["damaged"].size() == 1);
  CHECK_THAT(out["damaged"][0].get<std::string>(), ContainsSubstring(lost.file));
}

TEST_CASE("inspect --key finds a sample although an earlier shard is missing") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WritePictures(data, 300, 9);
  std::filesystem::remove(folder / "data" / Dataset::Open(data).shards()[0].file);
  const Outcome found = Sluice({"inspect", data, "--key", "k8"});
  CHECK(found.exit_code == 0);
  CHECK_THAT(found.out, ContainsSubstring("sample 8: k8"));
  // A key that none of the others has may lie in the missing shard.
  CHECK_THAT(Sluice({"inspect", data, "--key", "none"}).err,
             ContainsSubstring("shard-00000.sluice: cannot be opened"));
}

TEST_CASE("a hundred of many damaged samples are named, and all are counted") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WritePictures(data, 8, 130);
  const std::filesystem::path shard = folder / "data/shard-00000.sluice";
  std::string bytes = ContentOf(shard);
  for (int i = 0; i < 130; ++i) {
    const std::string payload(192, static_cast<char>(i));
    // Picture 0 stays whole: there are zeros elsewhere in the shard, too.
    const std::size_t at = i == 0 ? std::string::npos : bytes.find(payload);
    if (at != std::string::npos) bytes[at + 100] ^= 1;
  }
  WriteBytes(shard, bytes);
  const Outcome stats = Sluice({"stats", data});
  CHECK(stats.exit_code == 1);
  CHECK_THAT(stats.out, ContainsSubstring("damaged: and 29 more"));
  CHECK_THAT(stats.out, ContainsSubstring("129 samples are not counted"));
  const Outcome exported = Sluice({"export", data, (folder / "out").string()});
  CHECK(exported.exit_code == 3);
  CHECK_THAT(exported.out, ContainsSubstring("left out: and 29 more"));
  CHECK_THAT(exported.out, ContainsSubstring("129 are left out"));
}

}  // namespace sluice::test
