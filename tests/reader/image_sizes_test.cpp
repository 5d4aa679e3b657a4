// Images that differ in size within a batch: OutputOptions::image_sizes.
#include <algorithm>
#include <stdexcept>

#include <sluice/resume.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// The size of sample i's picture and mask.
ImageSize SizeOfSample(std::uint64_t i) {
  return {static_cast<std::uint32_t>(2 + i % 7), static_cast<std::uint32_t>(3 + i % 5)};
}
std::uint8_t ValueAt(std::uint64_t i, std::size_t y, std::size_t x, std::size_t channel) {
  return static_cast<std::uint8_t>(1 + (i * 31 + y * 17 + x * 5 + channel * 3) % 255);
}
constexpr std::uint64_t kWithoutMask = 11;
constexpr std::uint64_t kPictures = 40;

Dataset WriteSizes(const TemporaryFolder& folder) {
  const Field boxes = BoxesField();
  DatasetWriter writer(
      folder / "sizes",
      {{Field::Image(), Field::Mask("mask", "image"), boxes, Field::Label("label")}},
      {"sizes", 1'000'000, 4});
  for (std::uint64_t i = 0; i < kPictures; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const ImageSize size = SizeOfSample(i);
    const auto put = [&](const char* field, std::uint8_t channels, bool packed) {
      std::vector<std::uint8_t> pixels;
      for (std::size_t y = 0; y < size.height; ++y)
        for (std::size_t x = 0; x < size.width; ++x)
          for (std::size_t c = 0; c < channels; ++c)
            pixels.push_back(ValueAt(i, y, x, c));
      sample.SetPixels(field, size.width, size.height, channels, PixelType::kUint8,
                       std::as_bytes(std::span(pixels)), packed);
    };
    put("image", 3, false);
    if (i != kWithoutMask) put("mask", 1, true);
    const auto side = static_cast<float>(size.width);
    sample.SetArray<float>("boxes", std::vector<float>{0, 0, side, 2});
    sample.Set<std::int32_t>("label", static_cast<std::int32_t>(i));
    writer.Add(sample);
  }
  writer.Finish();
  return Dataset::Open(folder / "sizes");
}

// One value of the image of one sample.
std::uint8_t At(const ImageBatch& image, std::size_t y, std::size_t x, std::size_t channel) {
  return image.layout == Layout::kNHWC
             ? image.data[(y * image.width + x) * image.channels + channel]
             : image.data[(channel * image.height + y) * image.width + x];
}

// Checks that the image holds the sample's values, and `padding` around them; only `padding` if the
// sample has no image.
void CheckImage(const ImageBatch& image, const ImageSize& own, std::uint64_t sample, bool absent,
                std::uint8_t padding) {
  REQUIRE(image.samples == 1);
  std::size_t wrong = 0;
  for (std::size_t y = 0; y < image.height; ++y)
    for (std::size_t x = 0; x < image.width; ++x)
      for (std::size_t c = 0; c < image.channels; ++c) {
        const bool inside = y < own.height && x < own.width;
        const std::uint8_t expected = inside && !absent ? ValueAt(sample, y, x, c) : padding;
        wrong += At(image, y, x, c) == expected ? 0 : 1;
      }
  CHECK(wrong == 0);
}

void CheckBatch(const Batch& batch, ImageSizes image_sizes, std::uint8_t mask_fill) {
  ImageSize largest;
  for (const std::uint64_t sample : batch.samples()) {
    largest.height = std::max(largest.height, SizeOfSample(sample).height);
    largest.width = std::max(largest.width, SizeOfSample(sample).width);
  }
  const bool padded = image_sizes == ImageSizes::kPadded;
  for (const char* const field : {"image", "mask"}) {
    const ImageBatch& all = batch.image(field);
    REQUIRE(all.samples == batch.size());
    CHECK(all.height == (padded ? largest.height : 0));
    CHECK(all.width == (padded ? largest.width : 0));
    REQUIRE(batch.sizes(field).size() == batch.size());
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint64_t sample = batch.samples()[row];
      const ImageSize own = SizeOfSample(sample);
      REQUIRE(batch.sizes(field)[row] == own);
      const ImageBatch one = batch.image(field, row);
      REQUIRE(one.height == (padded ? largest.height : own.height));
      REQUIRE(one.width == (padded ? largest.width : own.width));
      REQUIRE(one.data == all.data + batch.offsets(field)[row]);
      const bool absent = field == std::string("mask") && sample == kWithoutMask;
      REQUIRE(batch.Has(field, row) == !absent);
      CheckImage(one, own, sample, absent, field == std::string("mask") ? mask_fill : 0);
    }
  }
  const auto boxes = batch.Variable<float>("boxes");
  for (std::size_t row = 0; row < batch.size(); ++row) {
    const ImageSize own = SizeOfSample(batch.samples()[row]);
    REQUIRE(boxes[row].size() == 4);
    CHECK((boxes[row][2] == static_cast<float>(own.width) && boxes[row][3] == 2));
  }
}

LoaderOptions SizesOptions(ImageSizes image_sizes, unsigned threads = 2) {
  LoaderOptions options = OptionsFor(6, threads);
  options.order.lanes = 2;
  options.output.image_sizes = image_sizes;
  return options;
}

// A batch's samples, and the images' bytes one after another.
PlayedBatch KeepSized(const Batch& batch) {
  PlayedBatch kept{batch.epoch(), batch.index(), batch.valid(), {}, {}};
  kept.samples.assign(batch.samples().begin(), batch.samples().end());
  for (std::size_t row = 0; row < batch.size(); ++row) {
    for (const char* const field : {"image", "mask"}) {
      const ImageBatch one = batch.image(field, row);
      kept.pixels.insert(kept.pixels.end(), one.data, one.data + one.sample_bytes());
    }
  }
  return kept;
}

std::vector<PlayedBatch> PlaySized(Loader& loader, std::uint64_t epoch) {
  std::vector<PlayedBatch> played;
  for (const Batch& batch : loader.Epoch(epoch))
    played.push_back(KeepSized(batch));
  return played;
}

}  // namespace

TEST_CASE("Images of their own sizes, or padded to a batch's largest, are the dataset's") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteSizes(folder);
  const ImageSizes image_sizes = GENERATE(ImageSizes::kOwn, ImageSizes::kPadded);
  LoaderOptions options = SizesOptions(image_sizes);
  options.output.mask_fill = {{"mask", 0}};  // of the sample without a mask
  std::uint8_t mask_fill = 0;
  std::uint64_t expected = kPictures;
  SECTION("interleaved") {}
  SECTION("planar, with a value for masks outside the picture") {
    options.output.layout = Layout::kNCHW;
    options.output.mask_fill = {{"mask", 255}};
    mask_fill = 255;
  }
  SECTION("some left out") {
    options.sample_function = [](MutableSample& sample) {
      if (sample.index() % 3 == 0) throw std::runtime_error("a third");
    };
    options.integrity.on_fault = OnFault::kSkip;
    expected = kPictures - 14;
  }
  SECTION("past the page cache, in the consumer's thread") {
    options.storage = Direct{};
    options.threads = 0;
  }
  Loader loader(dataset, options);
  std::uint64_t seen = 0;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
    for (const Batch& batch : loader.Epoch(epoch)) {
      CheckBatch(batch, image_sizes, mask_fill);
      seen += batch.size();
    }
  CHECK(seen == 2 * expected);
}

TEST_CASE("Batches of images that differ in size do not depend on threads, nor on a resume") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteSizes(folder);
  LoaderOptions options = SizesOptions(GENERATE(ImageSizes::kOwn, ImageSizes::kPadded), 1);
  options.output.mask_fill = {{"mask", 0}};  // of the sample without a mask
  options.transform = {ResizeShortSide(5), RandomQuarterTurns(), HorizontalFlip(),
                       ColorJitter{0.4}};
  options.schedule = {{1, {HorizontalFlip()}}};
  std::vector<PlayedBatch> expected;
  {
    Loader loader(dataset, options);
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (PlayedBatch& batch : PlaySized(loader, epoch))
        expected.push_back(std::move(batch));
  }
  for (const unsigned threads : {0U, 2U, 5U}) {
    options.threads = threads;
    Loader loader(dataset, options);
    std::size_t at = 0;
    std::vector<ResumePoint> points;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (const Batch& batch : loader.Epoch(epoch)) {
        REQUIRE(KeepSized(batch) == expected[at++]);
        points.push_back(loader.State());
      }
    REQUIRE(at == expected.size());
    for (const std::size_t b : {std::size_t{2}, std::size_t{8}}) {
      LoaderOptions later = options;
      later.resume_from = points[b];
      Loader resumed(dataset, later);
      REQUIRE(KeepSized(*resumed.Epoch(points[b].epoch).begin()) == expected[b + 1]);
    }
  }
}

TEST_CASE("Ranks get the same images of different sizes, whatever their number") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteSizes(folder);
  LoaderOptions options = SizesOptions(GENERATE(ImageSizes::kOwn, ImageSizes::kPadded));
  options.output.mask_fill = {{"mask", 0}};  // of the sample without a mask
  options.order.lanes = 4;
  options.transform = {HorizontalFlip(), ColorJitter{0.4}};
  // For each batch over all ranks: each sample's number and its image without padding, sorted.
  using Own = std::vector<std::pair<std::uint64_t, std::vector<std::uint8_t>>>;
  const auto play = [&](unsigned ranks) {
    std::vector<Own> global;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      options.batch_size = 12 / ranks;
      options.ranks = {.rank = rank, .world_size = ranks};
      Loader loader(dataset, options);
      for (const Batch& batch : loader.Epoch(1)) {
        global.resize(std::max<std::size_t>(global.size(), batch.index() + 1));
        for (std::size_t row = 0; row < batch.valid(); ++row) {
          const ImageBatch image = batch.image({}, row);
          const ImageSize own = batch.sizes()[row];
          auto& [sample, pixels] = global[batch.index()].emplace_back();
          sample = batch.samples()[row];
          for (std::size_t y = 0; y < own.height; ++y) {
            const std::uint8_t* const line = image.data + y * image.width * 3;
            pixels.insert(pixels.end(), line, line + std::size_t{own.width} * 3);
          }
        }
      }
    }
    for (Own& batch : global)
      std::sort(batch.begin(), batch.end());
    return global;
  };
  const std::vector<Own> alone = play(1);
  REQUIRE(alone.size() == 4);
  CHECK(play(2) == alone);
  CHECK(play(4) == alone);
}

TEST_CASE("An image of its own size equals that of a loader that resizes to this size") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 20));
  LoaderOptions options = SizesOptions(ImageSizes::kOwn);
  options.transform = {ResizeShortSide(48), Normalize{}};
  options.views = {{"small", {ResizeShortSide(16), HorizontalFlip(1)}, {}}};
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const ImageSize size = batch.sizes()[row], small = batch.sizes("small")[row];
      REQUIRE(
          (std::min(size.width, size.height) == 48 && std::min(small.width, small.height) == 16));
      LoaderOptions alone = OptionsFor(1, 1);
      alone.order.samples = SampleList::Of({batch.samples()[row]});
      alone.transform = {Resize(size.width, size.height), Normalize{}};
      alone.views = {{"small", {Resize(small.width, small.height), HorizontalFlip(1)}, {}}};
      Loader one(dataset, alone);
      const Batch expected = *one.Epoch(0).begin();
      const ImageBatch image = batch.image({}, row);
      REQUIRE(image.sample_bytes() == expected.image().sample_bytes());
      REQUIRE(std::equal(image.data, image.data + image.sample_bytes(), expected.image().data));
      const ImageBatch view = batch.image("small", row);
      REQUIRE(std::equal(view.data, view.data + view.sample_bytes(), expected.image("small").data));
      const Batch alone_row = loader.Row(batch.samples()[row], 0);
      REQUIRE(alone_row.sizes()[0] == size);
    }
  }
}

TEST_CASE("The user's functions see images of their own sizes") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteSizes(folder);
  const ImageSizes image_sizes = GENERATE(ImageSizes::kOwn, ImageSizes::kPadded);
  LoaderOptions options = SizesOptions(image_sizes);
  options.output.mask_fill = {{"mask", 0}};  // of the sample without a mask
  options.sample_function = [](MutableSample& sample) {
    const ImageSize size = SizeOfSample(sample.index());
    if (sample.shape().height != size.height ||
        sample.image("mask").size() != size.height * size.width)
      throw std::runtime_error("another size");
    std::vector<std::uint8_t> border(size.height * size.width, 1);
    sample.WriteBorder(border);
    if (std::count(border.begin(), border.end(), 1) > 0) throw std::runtime_error("a border");
    for (std::uint8_t& value : sample.image())
      value = static_cast<std::uint8_t>(255 - value);
  };
  options.batch_function = [image_sizes](MutableBatch& batch) {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const ImageSize own = batch.sizes()[row];
      const ImageBatch one = batch.shape({}, row);
      if (own != SizeOfSample(batch.samples()[row]) ||
          (image_sizes == ImageSizes::kOwn && (one.height != own.height || one.width != own.width)))
        throw std::runtime_error("another size");
      for (std::byte& value : batch.ImageBytes({}, row))
        value = std::byte{255} ^ value;
    }
    if (batch.size() < 2 || image_sizes == ImageSizes::kPadded) return;
    bool refused = false;
    try {
      batch.image();
    } catch (const Error&) {
      refused = true;
    }
    if (!refused) throw std::runtime_error("all rows at once");
  };
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0))
    for (std::size_t row = 0; row < batch.size(); ++row) {
      // Both functions invert the picture's values, and the batch function also its padding.
      const std::uint64_t sample = batch.samples()[row];
      CheckImage(batch.image({}, row), SizeOfSample(sample), sample, false, 255);
    }
}

TEST_CASE("Memory() counts room for the largest image in each row, and no more") {
  const TemporaryFolder folder;
  WriteSizes(folder);
  const auto slots = [&](ImageSizes image_sizes, std::uint64_t max_pixels, Pipeline transform) {
    ReadLimits limits;
    limits.max_pixels = max_pixels;
    LoaderOptions options = SizesOptions(image_sizes);
    options.output.fields = {"image"};
    options.transform = std::move(transform);
    options.batch_size = 4096;  // so many rows that rounding to pages does not matter
    options.ring.prefetch = 2;
    options.integrity.on_fault = OnFault::kSkip;
    Loader loader(Dataset::Open(folder / "sizes", limits), options);
    for (const Batch& batch : loader.Epoch(0))
      for (std::size_t row = 0; row < batch.size(); ++row)
        CHECK(std::uint64_t{batch.sizes()[row].width} * batch.sizes()[row].height <= max_pixels);
    return loader.Memory().slots / (4 * 4096);  // for a row of one of four slots
  };
  // Widths are at most 7 and heights at most 8. A row takes 3 bytes a pixel, rounded up to 64
  // bytes.
  CHECK(slots(ImageSizes::kOwn, 1000, {}) == 192);
  CHECK(slots(ImageSizes::kPadded, 1000, {}) == 192);
  CHECK(slots(ImageSizes::kOwn, 20, {}) == 64);
  CHECK(slots(ImageSizes::kPadded, 20, {}) == 192);
  // A picture of 7 x 2 would become 14 x 4, and one of 3 x 8 would become 4 x 10 (rounded down): at
  // most 14 x 10. With quarter turns, each side may have 14 pixels.
  CHECK(slots(ImageSizes::kOwn, 1000, {ResizeShortSide(4)}) == 448);
  CHECK(slots(ImageSizes::kOwn, 1000, {RandomQuarterTurns(), ResizeShortSide(4)}) == 640);
}

TEST_CASE("Options that do not work with images of different sizes are refused with advice") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteSizes(folder);
  LoaderOptions options = SizesOptions(ImageSizes::kOwn);
  options.output.mask_fill = {{"mask", 0}};  // of the sample without a mask
  const auto refusal = [&] {
    return ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  {
    Loader loader(dataset, options);
    const Batch batch = *loader.Epoch(0).begin();
    CHECK_THROWS_AS(batch.sizes("label"), Error);
    CHECK_THROWS_AS(batch.image("image", 6), Error);
  }
  options.output.image_sizes = ImageSizes::kEqual;
  CHECK_THAT(refusal(),
             ContainsSubstring("LoaderOptions::output.image_sizes to ImageSizes::kPadded"));
  {
    options.transform = {Resize(4)};
    Loader loader(dataset, options);
    const Batch batch = *loader.Epoch(0).begin();
    CHECK_THAT(ErrorText([&] { static_cast<void>(batch.sizes()); }, ErrorCode::kInvalidArgument),
               ContainsSubstring("images of one size"));
    CHECK(batch.image("mask", 2).data == batch.image("mask").data + 2 * 16);
  }
  options.output.image_sizes = ImageSizes::kPadded;
  options.output.fields = {"image", "label"};
  options.transform = {OneHot(40), MixUp(1)};
  CHECK_THAT(refusal(), ContainsSubstring("MixUp, CutMix and CopyPaste need images of one size"));
  options.transform = {GaussianBlur(9)};
  CHECK_THAT(refusal(), ContainsSubstring("GaussianBlur"));
  options.transform = {};
  options.keep = DecodedPictures{1 << 20, {}, true};
  options.sample_function = [](MutableSample&) {};
  CHECK_THAT(refusal(), ContainsSubstring("output.image_sizes at kEqual"));
  options.keep = {};
  options.batch_size = 1 << 24;
  options.transform = {ResizeShortSide(60000)};
  CHECK_THAT(refusal(), ContainsSubstring("more than 1 TiB"));
}

TEST_CASE(
    "Images of one size may come with kOwn and kPadded, too, and pictures of any size may be "
    "kept") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 24));
  const ImageSizes image_sizes = GENERATE(ImageSizes::kOwn, ImageSizes::kPadded);
  LoaderOptions options = SizesOptions(image_sizes);
  SECTION("of one size by the transform") {
    options.transform = {RandomResizedCrop(12)};
    LoaderOptions plain = options;
    plain.output.image_sizes = ImageSizes::kEqual;
    Loader expected(dataset, plain);
    Loader loader(dataset, options);
    auto of_plain = expected.Epoch(0);
    auto at = of_plain.begin();
    for (const Batch& batch : loader.Epoch(0)) {
      for (std::size_t row = 0; row < batch.size(); ++row) {
        const ImageBatch one = batch.image({}, row), other = at->image({}, row);
        REQUIRE(std::equal(one.data, one.data + 12 * 12 * 3, other.data));
      }
      ++at;
    }
  }
  SECTION("kept whole or as rows") {
    options.transform = {HorizontalFlip()};
    Loader plain(dataset, options);
    options.keep = DecodedPictures{1 << 20};
    Loader keeps(dataset, options);
    const auto play = [](Loader& loader, std::uint64_t epoch) {
      std::vector<std::vector<std::uint8_t>> images;
      for (const Batch& batch : loader.Epoch(epoch))
        for (std::size_t row = 0; row < batch.size(); ++row) {
          const ImageBatch one = batch.image({}, row);
          images.emplace_back(one.data, one.data + one.sample_bytes());
        }
      return images;
    };
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      CHECK(play(keeps, epoch) == play(plain, epoch));
    CHECK(keeps.Stats().kept_pictures > 0);
  }
}
