// The measurements of `sluice-bench decode --bandwidth`.
#include <sluice/error.h>

#include "bench/parts/decode.h"
#include "format/pixels/packed/pack.h"
#include "reader/transform/geometry.h"
#include "tests/catch.h"
#include "tests/pictures.h"

namespace sluice::bench {
namespace {

BandwidthOptions Small() {
  BandwidthOptions options;
  options.threads = 2;
  options.rounds = 3;
  options.arena_bytes = 1 << 20;
  options.copy_bytes = 1 << 20;
  options.images = 5;
  return options;
}

DecodeItem ItemOf(const Pipeline& transform) {
  DecodeItem item;
  const std::vector<std::byte> jpeg = test::MakeJpeg(test::MakePicture(160, 128));
  packed::Coefficients coefficients;
  std::string why;
  REQUIRE(packed::ReadCoefficients(jpeg, coefficients, why) == packed::Taken::kYes);
  item.other_form = packed::Pack(coefficients);
  item.packed = {Codec::kPacked, PixelType::kUint8, 3, 160, 128, item.other_form};
  item.region = Geometry(transform).FrameFor(160, 128, 0, 0).region;
  return item;
}

}  // namespace

TEST_CASE(
    "bandwidth is measured on one thread and on several, with the bytes that an image needs") {
  std::vector<DecodeItem> items(1, ItemOf({Resize(32)}));
  items[0].packed.bytes = items[0].other_form;
  const BandwidthFigures figures = MeasureBandwidth(items, Small(), {});
  // The crop is the whole picture, so all of the payload is read except the zeros at its end.
  const auto whole = static_cast<double>(items[0].other_form.size());
  CHECK(figures.read_bytes_per_image <= whole);
  CHECK(figures.read_bytes_per_image > whole - 64);
  CHECK(figures.written_bytes_per_image == 32 * 32 * 3);
  REQUIRE(figures.points.size() == 2);
  CHECK(figures.points[0].threads == 1);
  CHECK(figures.points[1].threads == 2);
  for (const BandwidthPoint& point : figures.points) {
    CHECK(point.copy.size() == 3);
    CHECK(point.images.size() == 3);
    CHECK(point.cached_images.size() == 3);
  }
}

TEST_CASE("the share of the copy rate, and the threads that reach it, follow from the medians") {
  BandwidthFigures figures;
  figures.read_bytes_per_image = 60;
  figures.written_bytes_per_image = 40;
  // Per point: threads, copied bytes per second, images per second. An image moves 100 bytes, so
  // one thread uses 2 x 100 of 1000 bytes per second, and two use 4 x 100 of 1600.
  figures.points = {{1, {1000, 1000, 1000}, {1, 2, 9}, {}}, {2, {1600}, {4}, {}}};
  CHECK(ShareOfCopy(figures, figures.points[0]) == Approx(0.2));
  CHECK(ShareOfCopy(figures, figures.points[1]) == Approx(0.25));
  CHECK(ThreadsToLimit(figures) == Approx(8));  // 1600 at 200 per thread
}

TEST_CASE("bandwidth cannot be measured for pictures without a packed form") {
  CHECK_THROWS_AS(MeasureBandwidth({}, Small(), {}), Error);
  CHECK_THROWS_AS(MeasureBandwidth(std::vector<DecodeItem>(2), Small(), {}), Error);
}

}  // namespace sluice::bench
