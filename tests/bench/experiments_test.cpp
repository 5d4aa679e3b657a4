// Measurements of `sluice-bench epoch` besides its epochs: how many accelerators a machine can
// feed, as in MLPerf Storage, and how fast each stage is.
#include "bench/epoch/experiments.h"

#include "tests/catch.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

// Searches as on a machine that can feed `feeds` accelerators and no more.
AcceleratorSearch SearchOn(std::uint64_t feeds, std::uint64_t estimate) {
  return SearchAccelerators(0.9, estimate, [&](std::uint64_t accelerators) {
    return AcceleratorTrial{accelerators, accelerators <= feeds ? 0.95 : 0.5, 1};
  });
}

}  // namespace

TEST_CASE("the search finds the largest number of accelerators that are fed, from any estimate") {
  for (const std::uint64_t feeds : {0, 1, 2, 5, 9, 70}) {
    for (const std::uint64_t estimate : {0, 1, 3, 5, 12, 100})
      CHECK(SearchOn(feeds, estimate).fed == feeds);
  }
}

TEST_CASE("a good estimate takes two trials: one that passes and one that fails") {
  CHECK(SearchOn(4, 4).trials.size() == 2);
  CHECK(SearchOn(4, 5).trials.size() == 2);
  CHECK(SearchOn(0, 0).trials.size() == 1);
}

TEST_CASE("the search ends if every number passes") {
  CHECK(SearchOn(UINT64_MAX, 1).trials.size() <= 40);
}

TEST_CASE("the profiles have MLPerf Storage's figures, and an unknown profile is wrong usage") {
  const Profile& profile = ProfileNamed("mlperf-resnet50-h100");
  CHECK(profile.batch_size == 400);
  CHECK(profile.step_ms == 224);
  CHECK(profile.utilisation == 0.9);
  const Profile& retinanet = ProfileNamed("retinanet-b200");
  CHECK(retinanet.batch_size == 24);
  CHECK(retinanet.step_ms == 47.55);
  CHECK(retinanet.utilisation == 0.85);
  CHECK_THROWS_AS(ProfileNamed("h100"), cli::UsageError);
}

TEST_CASE("batches for a device have a stage for their copies, and others do not") {
  EpochOptions options;
  options.dataset = "/nowhere";  // the parts of decoding cannot be measured
  EpochsRun run;
  run.stats.samples = 200;
  run.stats.seconds = 8;
  run.stats.upload_seconds = 2;
  CHECK(StagesOf(options, run, {}).size() == 3);
  options.loader.device = Device::Cuda(0);
  const std::vector<Stage> stages = StagesOf(options, run, {});
  REQUIRE(stages.size() == 4);
  CHECK(stages.back().name == "upload");
  CHECK(stages.back().images == 200);
  CHECK(stages.back().seconds == 2);
  CHECK(stages.back().waiting_seconds == 6);
  run.stats.device_pictures = 150;
  run.stats.device_decode_seconds = 3;
  const Stage decoding = StagesOf(options, run, {}).back();
  CHECK(decoding.images == 150);
  CHECK(decoding.seconds == 3);
  CHECK(decoding.waiting_seconds == 5);
}

}  // namespace sluice::bench
