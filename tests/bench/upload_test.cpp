// The measurements of `sluice-bench upload`: uploads, bare copies and conversions.
#include "bench/parts/upload.h"

#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/device/simulated_device.h"

using namespace sluice;
using namespace sluice::bench;

TEST_CASE("Uploads are measured in turn with bare copies of the same bytes") {
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
    REQUIRE(rates.timeline.size() == 16);
    double copied = 0;
    for (const UploadMoments& batch : rates.timeline) {
      CHECK(batch.copy_begin >= copied);  // one after the other
      CHECK(batch.copy_end >= batch.copy_begin);
      CHECK((converted ? batch.converted >= batch.copy_end : batch.converted == batch.copy_end));
      copied = batch.copy_end;
    }
    CHECK(rates.cpus_busy >= 0);
    CHECK_FALSE(rates.gpu);  // the simulated device is on no bus
  }
  CHECK(driver->Alive() == 0);
  // Steps are copied as operations, on the labels' page: 5 operations of 20 bytes for each of the 6
  // samples, 4 for ColorJitter and 1 for RandomGrayscale.
  shape.steps = {ColorJitter{.4, .4, .4, .1}, RandomGrayscale{}};
  const UploadRates steps = MeasureUpload(DeviceAccess::DeviceOf(driver), driver, shape, 2, 1, {});
  CHECK(steps.batch_bytes == 6 * 10 * 10 * 3 + 4096);
  CHECK(steps.uploads.size() == 1);
  shape.steps = {RandAugment{}, GaussianBlur{3}};
  CHECK(MeasureUpload(DeviceAccess::DeviceOf(driver), driver, shape, 2, 1, {}).uploads.size() == 1);
  // A step that moves pixels after decoding is refused, as are a blur wider than the pictures and
  // more steps than fit on a device.
  for (const Pipeline& refused :
       {Pipeline{HorizontalFlip()}, Pipeline{GaussianBlur{21}}, Pipeline(70, ColorJitter{.1})}) {
    shape.steps = refused;
    CHECK_THROWS_AS(MeasureUpload(DeviceAccess::DeviceOf(driver), driver, shape, 2, 1, {}), Error);
  }
  shape.steps.clear();
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(
      MeasureUpload(DeviceAccess::DeviceOf(driver), driver, shape, 5, 3, stop.get_token()),
      Interrupted);
}

TEST_CASE("A conversion's time begins when its own copy and the previous conversion have ended") {
  CHECK(ConversionSeconds({{0, 2, 3}, {2, 4, 7}, {4, 6, 8}}) == Approx(1));
  CHECK(ConversionSeconds({{0, 2, 5}, {2, 4, 8}, {4, 6, 11}}) == Approx(3));
  CHECK(ConversionSeconds({}) == 0);
}

TEST_CASE("ShareBesideCopies() is the share of conversion time in which another batch is copied") {
  // Copies of 2 seconds, one after another. First each conversion takes 1 second; then one takes 3,
  // and the next, of 1 second, waits for it.
  CHECK(ShareBesideCopies({{0, 2, 3}, {2, 4, 5}, {4, 6, 7}}) == Approx(2.0 / 3));
  CHECK(ShareBesideCopies({{0, 2, 5}, {2, 4, 6}}) == Approx(2.0 / 4));
  CHECK(ShareBesideCopies({{0, 2, 2}, {2, 4, 4}}) == 0);
  CHECK(ShareBesideCopies({}) == 0);
}
