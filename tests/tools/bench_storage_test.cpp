// sluice-bench epoch and io: where samples are read from (disk, or a simulated object store), and
// how they are kept.
#include <fstream>

#include <sluice/dataset.h>

#include "tests/tools/animals.h"
#include "tests/tools/json_answer.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("option --verify sets when payloads are compared with their checksums") {
  const Animals animals({"--image", "raw"});
  // A byte in the middle of the shard is one of the pixels of some image.
  const std::string shard = animals.data() + "/shard-00000.sluice";
  const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(shard) / 2);
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(middle);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(middle);
  file.put(byte);
  file.close();

  const Outcome always = animals.Epoch({});
  CHECK(always.exit_code == 1);
  CHECK_THAT(always.err, ContainsSubstring("shard-00000.sluice"));
  CHECK(animals.Epoch({"--verify", "always"}).exit_code == 1);
  CHECK(animals.Epoch({"--verify", "never"}).exit_code == 0);
}

TEST_CASE("option --cold drops the dataset from the page cache before each epoch") {
  const Animals animals;
  const Outcome outcome = animals.Epoch({"--cold", "--epochs", "2", "--json"});
  CHECK(outcome.exit_code == 0);
  const nlohmann::json answer = nlohmann::json::parse(outcome.out);
  CHECK(answer["cold"] == true);
  CHECK(answer["warm_up_epochs"].empty());
  bool dropped = true;
  for (const auto& epoch : answer["epochs"]) {
    CHECK(epoch["images"] == 30);
    dropped = dropped && epoch["left_in_cache_bytes"] == 0;
  }
  // If the temporary folder's file system cannot drop pages, or another process holds one of them
  // for a moment, the command says so.
  CHECK(dropped == (outcome.err.find("stayed in the page cache") == std::string::npos));
}

TEST_CASE("option --also-cold plays cold epochs after the measured ones and keeps them apart") {
  const Animals animals;
  const Outcome outcome = animals.Epoch({"--also-cold", "2", "--epochs", "3", "--json"});
  CHECK(outcome.exit_code == 0);
  const nlohmann::json answer = nlohmann::json::parse(outcome.out);
  CHECK(answer["epochs"].size() == 3);
  CHECK(answer["cold_epochs"].size() == 2);
}

TEST_CASE("options --direct, --cache, --stage and --share reach the loader and the result") {
  const Animals animals;
  const TemporaryFolder stage;
  const nlohmann::json usual = animals.EpochJson({"--epochs", "1"});
  for (const char* key : {"direct", "cache", "cache_bytes", "stage_bytes", "share_bytes"})
    CHECK_FALSE(usual.contains(key));
  CHECK(usual["choices"]["prefetch"] == 2);
  CHECK(usual["choices"]["read_ahead_depth_bytes"].get<std::uint64_t>() >= 16 << 20);
  CHECK(animals.EpochJson({"--read-ahead-bytes", "2MiB", "--prefetch",
                           "0"})["read_ahead_depth_bytes"] == 2 << 20);
  const nlohmann::json direct = animals.EpochJson({"--epochs", "1", "--direct"});
  CHECK(direct["direct"] == true);
  CHECK(direct["memory_bound"]["mapped_bytes"] == 0);
  const nlohmann::json kept =
      animals.EpochJson({"--epochs", "19", "--prefetch", "2", "--cache", "decoded:3MB"});
  CHECK(kept["cache"] == "decoded");
  CHECK(kept["cache_bytes"] == 3'000'000);
  // Twenty epochs of one batch each are played. The batches that are in flight before a picture is
  // kept may each decode it (there are few, with --prefetch 2); later ones take it from the cache.
  CHECK(BytesRead(kept) < 10 * Dataset::Open(animals.data()).images()[0].payload_bytes);
  CHECK(animals.EpochJson({"--cache", "decoded"})["cache_bytes"].get<std::uint64_t>() > 0);
  const std::string folder = (stage / "with:colon").string();
  const nlohmann::json staged = animals.EpochJson({"--stage", folder + ":50MB"});
  CHECK(staged["stage_bytes"] == 50'000'000);
  CHECK(std::filesystem::is_directory(folder));
  CHECK_THAT(animals.Epoch({"--stage", folder}).out, ContainsSubstring("found on the stage"));
  const nlohmann::json shared = animals.EpochJson({"--share", "50MB"});
  CHECK(shared["share_bytes"] == 50'000'000);
  CHECK(shared["memory_bound"]["shared_bytes"] > 1'000'000);
  CHECK(shared["memory_bound"]["shared_bytes"] <= 50'000'000);
  CHECK_THAT(animals.Epoch({"--share", "50MB"}).out, ContainsSubstring("0 rows taken from others"));
  CHECK(animals.Epoch({"--share", "0"}).exit_code == 2);
  CHECK(animals.Epoch({"--cache", "locked:3MB"}).exit_code == 2);
  CHECK(animals.Epoch({"--cache", "decoded:0"}).exit_code == 2);
  CHECK(animals.Epoch({"--cache", "everything"}).exit_code == 2);
  CHECK(animals.Epoch({"--stage", ":5MB"}).exit_code == 2);
}

TEST_CASE("option --stops times loaders that are dropped in the middle of an epoch") {
  const Animals animals;
  const nlohmann::json answer =
      animals.EpochJson({"--epochs", "1", "--batch-size", "4", "--stops", "5"});
  bool found = false;
  for (const auto& one : answer["measurements"]) {
    if (one["name"] != "stop_seconds") continue;
    found = true;
    CHECK(one["values"].size() == 5);
    CHECK(one["better"] == "lower");
  }
  CHECK(found);
  CHECK_THAT(animals.Epoch({"--stops", "3"}).out, ContainsSubstring("dropped in the middle"));
}

TEST_CASE("sluice-bench io fetches a simulated store by blocks, and as large ranges in order") {
  const Animals animals;
  const nlohmann::json answer =
      JsonOf(Bench({"io", animals.data(), "--rounds", "2", "--json", "--store-delay", "1ms",
                    "--store-rate", "200MB/s", "--store-errors", "0.1"}));
  REQUIRE(answer["measurements"].size() == 2);
  CHECK(answer["store_delay_seconds"].get<double>() == Approx(0.001));
  CHECK(answer["store_bytes_per_second"] == 200'000'000);
  std::uint64_t blocks = 0;
  const Dataset dataset = Dataset::Open(animals.data());
  for (const ShardSummary& shard : dataset.shards())
    blocks += shard.blocks;
  CHECK(answer["requests"].get<std::uint64_t>() <=
        blocks + answer["repeated_requests"].get<std::uint64_t>());
  const Outcome outcome = Bench({"io", animals.data(), "--store-delay", "1ms"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("large ranges in order"));
}

TEST_CASE("sluice-bench epoch plays from a simulated store, and reports what was fetched") {
  const Animals animals;
  const Outcome outcome =
      animals.Epoch({"--store-delay", "1ms", "--store-errors", "0.2", "--warm-up", "0"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("fetched in"));
  const TemporaryFolder cache;
  const std::string folder = cache.path().string();
  const Outcome cached =
      animals.Epoch({"--store-delay", "1ms", "--cold", "--epochs", "2", "--stage", folder});
  CHECK_THAT(cached.out, ContainsSubstring("found on the stage"));
  const nlohmann::json answer = JsonOf(Sluice({"cache", folder, "--json"}));
  REQUIRE(answer["datasets"].size() == 1);
  CHECK(answer["datasets"][0]["id"].get<std::string>().size() == 32);
  CHECK(answer["datasets"][0]["bytes"].get<std::uint64_t>() > 0);
  CHECK_FALSE(answer["datasets"][0]["in_use"].get<bool>());
  CHECK(JsonOf(Sluice({"cache", folder, "--clear", "--json"}))["freed_bytes"] ==
        answer["datasets"][0]["bytes"]);
}

TEST_CASE("invalid values for a simulated store are refused") {
  const Animals animals;
  for (const Words& words : {Words{"--store-delay", "50"}, Words{"--store-delay", "2 h"},
                             Words{"--store-rate", "0"}, Words{"--store-errors", "1"}}) {
    const Outcome outcome = animals.Epoch(words);
    INFO(words[0] << " " << words[1]);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring(words[0]));
  }
  CHECK_THAT(animals.Epoch({"--store-errors", "2"}).err, ContainsSubstring("from 0 to 0.9"));
}

}  // namespace sluice::test
