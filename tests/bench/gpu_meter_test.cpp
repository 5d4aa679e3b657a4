#include "bench/epoch/run.h"
#include "bench/machine/meters.h"
#include "tests/catch.h"

namespace sluice::bench {

TEST_CASE("A GPU's use comes from NVML, where that is there and knows the GPU") {
  GpuMeter meter("0000:65:00.0", NVML_DOUBLE);
  for (int times = 0; times < 2; ++times) {
    const std::optional<GpuUse> use = meter.Take();
    REQUIRE(use);
    CHECK(use->busy == Approx(0.4));
    CHECK(use->memory_bytes == 5'000'000'000);
    CHECK(use->memory_total_bytes == 80'000'000'000);
  }
  CHECK_FALSE(GpuMeter("0000:01:00.0", NVML_DOUBLE).Take());
  CHECK_FALSE(GpuMeter("", NVML_DOUBLE).Take());
  CHECK_FALSE(GpuMeter("0000:65:00.0", "libno-such-library.so.1").Take());
}

TEST_CASE("The verdict of epochs says how busy the GPU was, if that is known") {
  EpochsRun run;
  run.epochs.resize(3);
  CHECK(VerdictOf(run) == run.stats.Verdict());
  run.epochs[0].warm_up = true;
  run.epochs[0].gpu = {0.9, 9'000'000'000, 80'000'000'000};
  run.epochs[1].gpu = {0.4, 5'000'000'000, 80'000'000'000};
  run.epochs[2].gpu = {0.5, 4'000'000'000, 80'000'000'000};
  CHECK(VerdictOf(run) == run.stats.Verdict() +
                              "; the GPU was busy 45% of the time by NVML, with at most 5.00 GB "
                              "of its 80.0 GB in use");
}

}  // namespace sluice::bench
