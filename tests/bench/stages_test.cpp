#include "bench/epoch/stages.h"

#include "tests/catch.h"

namespace sluice::bench {

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
