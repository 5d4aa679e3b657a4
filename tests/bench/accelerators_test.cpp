// The search for the number of accelerators that a dataset can feed, as in MLPerf Storage.
#include "bench/epoch/experiments.h"
#include "tests/catch.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

// A machine that feeds so many accelerators, and records each trial.
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

}  // namespace sluice::bench
