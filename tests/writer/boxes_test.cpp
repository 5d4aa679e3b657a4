// Boxes that follow their image; the expected corners are worked out by hand.
#include <sluice/convert.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"
#include "writer/fit/fit.h"

namespace sluice::test {

namespace {

using Corners = std::vector<float>;

// Boxes of an image of 100x60 pixels.
Corners Fitted(const std::vector<double>& boxes, const ConvertOptions& options,
               unsigned orientation = 1) {
  Placement placement;
  placement.stored_width = 100;
  placement.stored_height = 60;
  placement.orientation = OrientationOf(orientation);
  placement.geometry = FitGeometry(placement.upright_width(), placement.upright_height(), options);
  return FitBoxes(boxes, false, placement).corners;
}

ConvertOptions WithSize(std::uint32_t width, std::uint32_t height, Fit fit) {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.size = Size{width, height};
  options.geometry.fit = fit;
  return options;
}

}  // namespace

TEST_CASE("boxes are scaled with their image") {
  ConvertOptions options;
  options.geometry.max_side = 50;
  CHECK(Fitted({10, 20, 30, 50}, options) == Corners{5, 10, 15, 25});
}

TEST_CASE("boxes are moved by a crop and cut off at its edges") {
  // The middle 60x60: 20 pixels are cut off on either side.
  const ConvertOptions options = WithSize(60, 60, Fit::kCrop);
  CHECK(Fitted({10, 0, 30, 10}, options) == Corners{0, 0, 10, 10});
  CHECK(Fitted({70, 10, 100, 60}, options) == Corners{50, 10, 60, 60});
  CHECK(Fitted({0, 0, 20, 60}, options).empty());  // nothing is left
}

TEST_CASE("boxes are moved by padding") {
  // 100x60 into 50x50 gives 50x30, ten rows down.
  CHECK(Fitted({0, 0, 100, 60}, WithSize(50, 50, Fit::kPad)) == Corners{0, 10, 50, 40});
}

TEST_CASE("boxes turn with every orientation") {
  ConvertOptions options;
  // The box's right edge is 70 from the image's right edge, its bottom 10 from the image's bottom.
  const std::vector<double> box = {10, 20, 30, 50};
  CHECK(Fitted(box, options, 1) == Corners{10, 20, 30, 50});
  CHECK(Fitted(box, options, 2) == Corners{70, 20, 90, 50});
  CHECK(Fitted(box, options, 3) == Corners{70, 10, 90, 40});
  CHECK(Fitted(box, options, 4) == Corners{10, 10, 30, 40});
  CHECK(Fitted(box, options, 5) == Corners{20, 10, 50, 30});
  CHECK(Fitted(box, options, 6) == Corners{10, 10, 40, 30});  // a quarter turn to the right
  CHECK(Fitted(box, options, 7) == Corners{10, 70, 40, 90});
  CHECK(Fitted(box, options, 8) == Corners{20, 70, 50, 90});
}

TEST_CASE("boxes without area are dropped, and the others keep their order") {
  Placement placement{100, 60, {}, FitGeometry(100, 60, {})};
  const std::vector<double> boxes = {0, 0, 10, 10, 5, 5, 5, 9, 9, 5, 3, 9, 1, 1, 2, 2};
  const FittedBoxes fitted = FitBoxes(boxes, false, placement);
  CHECK(fitted.taken == std::vector<std::size_t>{0, 3});
  CHECK(fitted.corners == Corners{0, 0, 10, 10, 1, 1, 2, 2});
}

TEST_CASE("a converted table's boxes and their classes follow both orientation and size") {
  const TemporaryFolder folder;
  // 100x60 as stored, 60x100 as seen; then its middle 60x60, at half the size.
  WriteSource(folder / "s/a.jpg", WithOrientation(MakeJpeg(MakePicture(100, 60)), 6));
  WriteSource(folder / "s/t.csv",
              std::string("path,at,what\na.jpg,\"0 0 .1 1; .3 0 .2 .5\",hat|shoe\n"));
  ConvertSource source = ConvertSource::Table(folder / "s/t.csv");
  source.rows.columns = {{"at", ColumnType::kBoxes, "", BoxFormat::kXywh, true},
                         {"what", ColumnType::kBoxClasses}};
  source.upright = false;
  const ConvertSummary summary = Convert(source, folder / "data", WithSize(30, 30, Fit::kCrop));
  CHECK(summary.boxes_dropped == 1);
  const StoredDataset data = ReadDataset(folder / "data");
  const auto& fields = data.samples.at(0).fields;
  // The second box is x 30..50, y 0..30 as stored. Turned: x 30..60, y 30..50. The crop takes 20
  // rows off the top, and all is halved.
  REQUIRE(fields[1].bytes.size() == 16);
  Corners corners(4);
  std::memcpy(corners.data(), fields[1].bytes.data(), 16);
  CHECK(corners == Corners{15, 5, 30, 15});
  REQUIRE(fields[2].bytes.size() == 4);
  CHECK(LoadAt<std::int32_t>(fields[2].bytes, 0) == 1);  // hat 0, shoe 1
  // The same box, given for the upright image.
  WriteSource(folder / "s/t.csv", std::string("path,at,what\na.jpg,30 30 60 50,shoe\n"));
  source.rows.columns[0] = {"at", ColumnType::kBoxes};
  source.upright.reset();
  Convert(source, folder / "upright", WithSize(30, 30, Fit::kCrop));
  std::memcpy(corners.data(), ReadDataset(folder / "upright").samples[0].fields[1].bytes.data(),
              16);
  CHECK(corners == Corners{15, 5, 30, 15});
}

}  // namespace sluice::test
