#include "bench/upload.h"

#include "reader/device/simulated_device.h"
#include "tests/catch.h"

using namespace sluice;
using namespace sluice::bench;

TEST_CASE("Uploads are measured beside the copies alone, of the same bytes") {
  const auto driver = std::make_shared<SimulatedDevice>();
  UploadShape shape;
  shape.batch_size = 6;
  shape.side = 10;
  for (const bool converted : {false, true}) {
    if (converted) shape.type = FloatType::kBFloat16;
    const UploadRates rates =
        MeasureUpload(DeviceAccess::DeviceOf(driver), driver, shape, 5, 3, {});
    CHECK(rates.batch_bytes == 6 * 10 * 10 * 3 + 4096);  // the labels' page
    REQUIRE(rates.limit.size() == 3);
    REQUIRE(rates.uploads.size() == 3);
    for (std::size_t round = 0; round < 3; ++round)
      CHECK((rates.limit[round] > 0 && rates.uploads[round] > 0));
  }
  CHECK(driver->Alive() == 0);
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(
      MeasureUpload(DeviceAccess::DeviceOf(driver), driver, shape, 5, 3, stop.get_token()),
      UploadInterrupted);
}
