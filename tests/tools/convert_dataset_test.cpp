// sluice convert: shards, blocks and the order of the samples.
#include <algorithm>
#include <cstdlib>

#include <sluice/dataset.h>

#include "tests/sanitized.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// A folder, at first missing, whose images are converted again and again.
class Source {
 public:
  Dataset Convert(Words options) {
    const std::filesystem::path data = folder_ / ("data" + std::to_string(++conversions_));
    Words words = {"convert", path().string(), data.string()};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = Sluice(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return Dataset::Open(data);
  }
  std::filesystem::path path() const { return folder_ / "source"; }

 private:
  TemporaryFolder folder_;
  int conversions_ = 0;
};

std::vector<std::string> Keys(const Dataset& dataset) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < dataset.size(); ++i)
    keys.push_back(dataset[i].key());
  return keys;
}

void CheckSameFiles(const Dataset& a, const Dataset& b) {
  for (const char* file : {"manifest.json", "plan.json", "skipped.tsv"}) {
    CHECK(ContentOf(a.path() / file) == ContentOf(b.path() / file));
  }
  REQUIRE(a.shards().size() == b.shards().size());
  for (const ShardSummary& shard : a.shards()) {
    CHECK(ContentOf(a.path() / shard.file) == ContentOf(b.path() / shard.file));
  }
}

}  // namespace

TEST_CASE("option --shard-bytes sets the size of shards") {
  Source source;
  for (int i = 0; i < 12; ++i) {
    WriteJpeg(source.path() / (std::to_string(i) + ".jpg"), Noise(400, 400));
  }
  // 12 raw images of 480 kB.
  CHECK(source.Convert({"--image", "raw"}).shards().size() == 1);
  const Dataset small = source.Convert({"--image", "raw", "--shard-bytes", "1MB"});
  CHECK(small.shards().size() >= 6);
  const Dataset binary = source.Convert({"--image", "raw", "--shard-bytes", "2 MiB"});
  CHECK(binary.shards().size() >= 3);
  CHECK(binary.shards().size() < small.shards().size());
}

TEST_CASE("option --block-samples sets the number of samples in a block") {
  Source source;
  WriteClasses(source.path(), 4);
  CHECK(source.Convert({"--block-samples", "5"}).shards().at(0).block_samples == 5);
  CHECK(source.Convert({"--block-samples", "5"}).shards().at(0).blocks == 3);  // 12 samples
  const std::uint32_t chosen = source.Convert({}).shards().at(0).block_samples;
  CHECK(chosen > 5);  // small images: 512 KiB hold many of them
  CHECK(source.Convert({"--block-samples", "auto"}).shards().at(0).block_samples == chosen);
}

TEST_CASE(
    "option --seed changes the order of the samples, and --keep-order keeps that of the paths") {
  Source source;
  WriteClasses(source.path(), 10);
  const auto keys = Keys(source.Convert({}));
  auto sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  CHECK(keys != sorted);
  CHECK(Keys(source.Convert({"--seed", "0"})) == keys);
  const auto other = Keys(source.Convert({"--seed", "7"}));
  CHECK(other != keys);
  CHECK(std::is_permutation(other.begin(), other.end(), keys.begin(), keys.end()));
  CHECK(Keys(source.Convert({"--keep-order"})) == sorted);
}

TEST_CASE("the bytes of a dataset do not depend on --threads") {
  Source source;
  WriteClasses(source.path(), 20);
  const Dataset one = source.Convert({"--threads", "1"});
  CheckSameFiles(one, source.Convert({"--threads", "7"}));
}

TEST_CASE("the bytes of a dataset do not depend on the machine's vector instructions") {
  Source source;
  WriteClasses(source.path() / "large", 2, 700, 480);
  WriteJpeg(source.path() / "large" / "other.jpg", Noise(333, 251), {.subsample = false});
  WriteJpeg(source.path() / "large" / "scans.jpg", Noise(333, 251), {.progressive = true});
  for (const Words& options : {Words{"--max-side", "450"}, Words{"--size", "70x50"}}) {
    const Dataset chosen = source.Convert(options);
    ::setenv("SLUICE_ISA", "plain", 1);
    const Dataset plain = source.Convert(options);
    ::unsetenv("SLUICE_ISA");
    CheckSameFiles(chosen, plain);
  }
}

TEST_CASE("option --threads sets how many threads convert") {
  TemporaryFolder folder;
  const Picture picture = kSanitized ? MakePicture(350, 250) : MakePicture(700, 500);
  WriteJpeg(folder / "source" / "0.jpg", picture);
  for (int i = 1; i < 100; ++i) {  // 64 of them are converted before the others, to plan shards
    std::filesystem::create_hard_link(folder / "source" / "0.jpg",
                                      folder / "source" / (std::to_string(i) + ".jpg"));
  }
  const auto most_threads = [&](const std::string& threads) {
    std::filesystem::remove_all(folder / "data");
    Running running(SLUICE_COMMAND, {"convert", (folder / "source").string(),
                                     (folder / "data").string(), "--threads", threads});
    std::size_t most = 0;
    const Outcome outcome =
        running.Wait([&](const Outcome&) { most = std::max(most, running.Threads()); });
    CHECK(outcome.exit_code == 0);
    return most;
  };
  std::size_t with_one = 0;
  std::size_t with_nine = 0;
  // If this process was held up, it may miss the moment at which all threads existed: try again.
  for (int attempt = 0; attempt < 20 && with_nine != with_one + 8; ++attempt) {
    with_one = std::max(with_one, most_threads("1"));
    with_nine = std::max(with_nine, most_threads("9"));
  }
  CHECK(with_one <= 5);  // main, signals, one converting, perhaps one each for reading and writing
  CHECK(with_nine == with_one + 8);
}

}  // namespace sluice::test
