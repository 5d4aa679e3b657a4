// sluice-bench io and epoch of a dataset behind a simulated object store.
#include <sluice/dataset.h>

#include "tests/tools/animals.h"
#include "tests/tools/json_answer.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("sluice-bench io of a simulated store fetches all of it, beside a bare download") {
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
  CHECK_THAT(outcome.out, ContainsSubstring("a bare download"));
}

TEST_CASE("sluice-bench epoch of a simulated store plays it, and says what was fetched") {
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
  CHECK_THAT(cached.out, ContainsSubstring("found in the cache"));
  const nlohmann::json answer = JsonOf(Sluice({"cache", folder, "--json"}));
  REQUIRE(answer["datasets"].size() == 1);
  CHECK(answer["datasets"][0]["id"] == Dataset::Open(animals.data()).id());
  CHECK(answer["datasets"][0]["bytes"].get<std::uint64_t>() > 0);
  CHECK_FALSE(answer["datasets"][0]["in_use"].get<bool>());
  CHECK(JsonOf(Sluice({"cache", folder, "--clear", "--json"}))["freed_bytes"] ==
        answer["datasets"][0]["bytes"]);
}

TEST_CASE("wrong values of a simulated store are refused") {
  const Animals animals;
  for (const Words& words : {Words{"--store-delay", "50"}, Words{"--store-delay", "2 h"},
                             Words{"--store-rate", "0"}, Words{"--store-errors", "1"}}) {
    const Outcome outcome = animals.Epoch(words);
    INFO(words[0] << " " << words[1]);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring(words[0]));
  }
}

}  // namespace sluice::test
