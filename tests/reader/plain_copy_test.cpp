// Raw images that are copied in chunks: the batches equal those of reading row by row.
#include "reader/decoding/plain_copy.h"

#include "format/random.h"
#include "reader/loader/loader_setup.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint32_t kRawWidth = 21;
constexpr std::uint32_t kRawHeight = 17;

// Pictures of noise, each with a number and four floats.
std::filesystem::path WriteNoise(const TemporaryFolder& folder, int count) {
  const std::filesystem::path path = folder / "noise";
  DatasetWriter writer(path,
                       {{Field::Array("four", DType::kFloat32, {4}), Field::Image(),
                         Field::Array("number", DType::kInt16, {})}},
                       {"noise", 1'000'000, 32});
  std::vector<std::uint8_t> pixels(kRawWidth * kRawHeight * 3);
  for (int i = 0; i < count; ++i) {
    RandomStream random(static_cast<std::uint64_t>(i), static_cast<Purpose>(999), 0);
    for (std::uint8_t& value : pixels)
      value = static_cast<std::uint8_t>(random.Word());
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    sample.SetPixels("image", kRawWidth, kRawHeight, 3, PixelType::kUint8,
                     std::as_bytes(std::span(pixels)));
    const std::vector<float> four(4, static_cast<float>(i) / 7);
    sample.SetArray<float>("four", four);
    sample.Set<std::int16_t>("number", static_cast<std::int16_t>(i));
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

struct CopiedRow {
  std::vector<std::uint8_t> pixels;
  std::vector<float> four;
  std::int16_t number = 0;
  friend bool operator==(const CopiedRow&, const CopiedRow&) = default;
};

std::vector<CopiedRow> RowsOf(Loader& loader, std::uint64_t epoch) {
  std::vector<CopiedRow> rows;
  for (const Batch& batch : loader.Epoch(epoch)) {
    const ImageBatch& image = batch.image();
    const auto four = batch.Field<float>("four");
    const auto numbers = batch.Field<std::int16_t>("number");
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint8_t* const pixels = image.data + row * image.sample_bytes();
      rows.push_back({{pixels, pixels + image.sample_bytes()},
                      {four.data() + 4 * row, four.data() + 4 * row + 4},
                      numbers[row]});
    }
  }
  return rows;
}

// Whether a loader with these options copies images in chunks.
bool Serves(const Dataset& dataset, const LoaderOptions& options) {
  return PlainCopy::Serves(LoaderSetup(dataset, options).recipe);
}

}  // namespace

TEST_CASE("Raw images copied in chunks equal those read row by row") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteNoise(folder, 1200));
  REQUIRE(dataset.shards().size() > 1);
  for (const Pipeline& transform :
       {Pipeline{}, Pipeline{CenterCrop(13, 11)}, Pipeline{RandomCrop(16), HorizontalFlip()},
        Pipeline{RandomCrop(24, 4), VerticalFlip()}}) {
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      LoaderOptions options = OptionsFor(96, 2);
      options.transform = transform;
      options.output.layout = layout;
      LoaderOptions by_row = options;
      by_row.integrity.verify = Verify::kAlways;
      REQUIRE(Serves(dataset, options));
      REQUIRE_FALSE(Serves(dataset, by_row));
      Loader copying(dataset, options);
      Loader reading(dataset, by_row);
      for (const std::uint64_t epoch : {0, 1})  // in epoch 0, checksums are still compared
        REQUIRE(RowsOf(copying, epoch) == RowsOf(reading, epoch));
    }
  }
}

TEST_CASE("Raw images are not copied in chunks if a step or function needs each row") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  const LoaderOptions usual = OptionsFor(10, 1);
  REQUIRE(Serves(dataset, usual));
  LoaderOptions function = usual;
  function.sample_function = [](MutableSample&) {};
  CHECK_FALSE(Serves(dataset, function));
  LoaderOptions views = usual;
  views.views = {{"small", {CenterCrop(4, 4)}, {}}};
  CHECK_FALSE(Serves(dataset, views));
  LoaderOptions resized = usual;
  resized.transform = {Resize(6, 6)};
  CHECK_FALSE(Serves(dataset, resized));
  LoaderOptions target = usual;
  target.transform = {OneHot(10)};
  CHECK_FALSE(Serves(dataset, target));
  LoaderOptions direct = usual;
  direct.storage = Direct{};
  CHECK_FALSE(Serves(dataset, direct));
  LoaderOptions labels = usual;
  labels.output.fields = {"label"};
  CHECK_FALSE(Serves(dataset, labels));
}
