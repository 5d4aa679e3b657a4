// Mosaics: pictures whose pixels say which sample they are of. (tests/python/test_mosaic.py
// compares every pixel with its map, and ranks and resumes.)
#include <algorithm>
#include <map>
#include <set>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint32_t kFlatSamples = 48;

// Pictures of one colour each, of many sizes, with a box and a class for every third.
std::filesystem::path WriteFlat(const TemporaryFolder& folder) {
  const Field boxes = BoxesField();
  const Field classes = ClassesField();
  DatasetWriter writer(folder / "flat", {{Field::Image(), boxes, classes}}, {"flat", 1'000'000, 4});
  for (std::uint32_t i = 0; i < kFlatSamples; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const std::uint32_t width = 1 + i * 29 % 67, height = 1 + i * 13 % 53;
    const std::vector<std::byte> pixels(std::size_t{width} * height * 3, std::byte(i + 1));
    sample.SetPixels("image", width, height, 3, PixelType::kUint8, pixels);
    const std::vector<float> box = {0, 0, float(width), float(height)};
    sample.SetArray<float>("boxes", std::span(box).first(i % 3 == 0 ? 4 : 0));
    const std::vector<std::int32_t> number = {static_cast<std::int32_t>(i)};
    sample.SetArray<std::int32_t>("classes", std::span(number).first(i % 3 == 0 ? 1 : 0));
    writer.Add(sample);
  }
  writer.Finish();
  return folder / "flat";
}

struct MosaicRow {
  std::vector<std::uint64_t> parts;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> classes;
  friend bool operator==(const MosaicRow&, const MosaicRow&) = default;
};

std::map<std::uint64_t, MosaicRow> Play(const Dataset& dataset, const LoaderOptions& options) {
  std::map<std::uint64_t, MosaicRow> rows;
  Loader loader(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (const Batch& batch : loader.Epoch(epoch)) {
      const std::size_t bytes = batch.image().sample_bytes();
      for (std::size_t row = 0; row < batch.size(); ++row) {
        MosaicRow& made = rows[1000 * epoch + batch.samples()[row]];
        const auto parts = batch.parts().subspan(4 * row, 4);
        made.parts.assign(parts.begin(), parts.end());
        const std::uint8_t* const pixels = batch.image().data + row * bytes;
        made.pixels.assign(pixels, pixels + bytes);
        const auto classes = batch.Variable<std::int32_t>("classes")[row];
        made.classes.assign(classes.begin(), classes.end());
      }
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("A mosaic has pixels and objects of its four samples, for any number of threads") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteFlat(folder));
  LoaderOptions options;
  options.batch_size = 7;
  options.order.lanes = 16;
  options.output.boxes = {0, 0};
  const std::array<std::uint8_t, 3> black = {};
  const Pipeline pipelines[] = {
      {Mosaic(1)},
      {Mosaic(33).with_fill(black)},
      {HorizontalFlip(), RandomQuarterTurns(1), Mosaic(40).center(0, 2).with_fill(black),
       RandomCrop(61, 50), VerticalFlip()},
      {Mosaic(24).with_fill(black), RandomAffine(0).scale(0.3, 1.7).with_size(51, 37)},
      {Mosaic(30).with_fill(black), RandomAffine(20).scale(0.5, 1.5), Invert(1)}};
  for (const Pipeline& steps : pipelines) {
    options.transform = steps;
    for (const Layout layout : {Layout::kNCHW, Layout::kNHWC}) {
      options.output.layout = layout;
      options.threads = 1;
      const std::map<std::uint64_t, MosaicRow> rows = Play(dataset, options);
      options.threads = 3;
      CHECK(Play(dataset, options) == rows);
      std::map<std::uint64_t, int> shown;
      for (const auto& [name, row] : rows) {
        CHECK(row.parts[0] == name % 1000);
        for (const std::uint64_t part : row.parts)
          ++shown[part];
        if (&steps == &pipelines[1] || &steps == &pipelines[3]) {
          const auto strange = [&row](std::uint8_t pixel) {
            return pixel != 0 && std::ranges::count(row.parts, pixel - 1U) == 0;
          };
          CHECK(std::ranges::none_of(row.pixels, strange));
        }
        for (const std::int32_t number : row.classes)
          CHECK(std::ranges::count(row.parts, static_cast<std::uint64_t>(number)) > 0);
      }
      CHECK(rows.size() == 2 * kFlatSamples);
      for (const auto& [sample, times] : shown)
        CHECK((sample < kFlatSamples && times == 8));
    }
  }
}

TEST_CASE("A batch function sees the parts and maps that the batch has") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteFlat(folder));
  LoaderOptions options;
  options.batch_size = 7;
  options.threads = 0;
  options.order.lanes = 16;
  options.output.boxes = {0, 0};
  for (const bool mosaic : {true, false}) {
    options.transform = {Mosaic(16)};
    if (!mosaic) options.transform = {Resize(32)};
    std::map<std::uint64_t, std::pair<std::vector<std::uint64_t>, std::vector<RowMap>>> seen;
    options.batch_function = [&](MutableBatch& batch) {
      CHECK(batch.parts_of_row() == (mosaic ? 4 : 1));
      seen[batch.index()] = {{batch.parts().begin(), batch.parts().end()},
                             {batch.maps().begin(), batch.maps().end()}};
    };
    Loader loader(dataset, options);
    for (const Batch& batch : loader.Epoch(0)) {
      const auto& [parts, maps] = seen.at(batch.index());
      CHECK(std::ranges::equal(batch.parts(), parts));
      CHECK(std::ranges::equal(batch.maps(), maps));
      CHECK(parts.size() == batch.size() * batch.parts_of_row());
    }
  }
}
