// Several views of one sample, and output sizes that change with the epoch.
#include <algorithm>
#include <cstdlib>

#include <sluice/error.h>

#include "reader/decoding/picture_painter.h"
#include "reader/loader/checked_options.h"
#include "reader/transform/pixel_program.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<std::uint8_t> BytesOf(const ImageBatch& image) {
  return {image.data, image.data + image.samples * image.sample_bytes()};
}

// The image and then the views of each batch.
std::vector<std::vector<std::uint8_t>> PlayViews(const Dataset& dataset, LoaderOptions options,
                                                 std::uint64_t epoch) {
  Loader loader(dataset, options);
  std::vector<std::vector<std::uint8_t>> played;
  for (const Batch& batch : loader.Epoch(epoch)) {
    played.push_back(BytesOf(batch.image()));
    for (const View& view : options.views)
      played.push_back(BytesOf(batch.image(view.name)));
  }
  return played;
}

Pipeline TwoCrops() {
  return {RandomResizedCrop(32), HorizontalFlip(), ColorJitter{0.4, 0.4}};
}

}  // namespace

TEST_CASE("Views are drawn independently, and are the same for any number of threads") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 60));
  LoaderOptions options = OptionsFor(8, 1);
  options.transform = TwoCrops();
  const auto alone = PlayViews(dataset, options, 1);
  options.views = {{"second", TwoCrops(), {}},
                   {"small", {RandomResizedCrop(16, 12), Normalize{}}, {}}};
  const auto both = PlayViews(dataset, options, 1);
  REQUIRE(both.size() == 3 * alone.size());
  for (std::size_t b = 0; b < alone.size(); ++b) {
    CHECK(both[3 * b].size() == alone[b].size());
    CHECK(both[3 * b] != both[3 * b + 1]);
    CHECK(both[3 * b + 2].size() == alone[b].size() / (32 * 32 * 3) * 16 * 12 * 3 * 4);
  }
  options.threads = 3;
  options.ring.prefetch = 4;
  CHECK(PlayViews(dataset, options, 1) == both);
}

TEST_CASE("A view with the same fixed steps as the image equals the image") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = {Resize(4)};
  options.views = {{"again", {Resize(4)}, {}}, {"mirrored", {Resize(4), HorizontalFlip{1}}, {}}};
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    CHECK(batch.image("again").samples == batch.size());
    CHECK(BytesOf(batch.image("again")) == BytesOf(batch.image()));
    CHECK(batch.Has("mirrored", 0));
  }
}

TEST_CASE("Each of many views has the pixels that it has as the only one") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 24));
  LoaderOptions options;
  options.batch_size = 4;
  options.threads = 2;
  options.order.shuffle = Shuffle::kSequential;
  options.transform = {RandomResizedCrop(24), HorizontalFlip()};
  for (int i = 0; i < 9; ++i) {
    options.views.push_back({"small" + std::to_string(i),
                             {RandomResizedCrop(8).scale(0.05, 0.4), RandomQuarterTurns()},
                             {}});
  }
  // A view's draws depend on its place in the list, so the other views are made single pixels, not
  // removed.
  const auto together = PlayViews(dataset, options, 1);
  for (std::size_t only = 0; only <= options.views.size(); ++only) {
    LoaderOptions alone = options;
    alone.keep = {};
    if (only != 0) alone.transform = {Resize(1)};
    for (std::size_t v = 0; v < alone.views.size(); ++v) {
      if (v + 1 != only) alone.views[v].transform = {Resize(1)};
    }
    alone.resume_from = {};
    const auto single = PlayViews(dataset, alone, 1);
    CAPTURE(only);
    CHECK(single.size() == together.size());
    for (std::size_t b = only; b < together.size(); b += 1 + options.views.size())
      REQUIRE(single[b] == together[b]);
  }
}

namespace {

// A device that leaves all painting to the host, and overwrites the payload once the first view is
// painted.
class OverwritingDevice : public DevicePainter {
 public:
  explicit OverwritingDevice(std::vector<std::byte>& payload) : payload_(payload) {}
  bool Paint(const ImagePayload&, std::span<const Frame>, Slot&, std::size_t view,
             std::size_t) override {
    if (view == 1) std::ranges::fill(payload_, std::byte{0});
    return false;
  }
  bool PaintCached(const ImagePayload&, std::span<const Frame>, Slot&, std::size_t) override {
    return false;
  }
  void DrawOps(std::span<const Frame>, Slot&, std::size_t, std::size_t) const override {}

 private:
  std::vector<std::byte>& payload_;
};

// Paints a row of a picture, and returns the bytes of all its views; nothing if one of them cannot
// be decoded.
std::vector<std::uint8_t> PaintRow(const BatchRecipe& recipe, std::vector<std::byte> file,
                                   bool overwrite) {
  Slot slot;
  Prepare(slot, recipe.layout, HostBuffer(recipe.layout.bytes));
  BeginBatch(slot, recipe, 0, 1);
  PicturePainter painter(recipe, nullptr,
                         overwrite ? std::make_unique<OverwritingDevice>(file) : nullptr);
  PayloadDecoder decoder;
  const ImagePayload payload{Codec::kJpeg, PixelType::kUint8, 3, 180, 140, file};
  REQUIRE(painter.FrameViews(payload, slot, 0, 0, nullptr));
  REQUIRE(painter.Find(payload, slot, 0) == PicturePainter::From::kPayload);
  std::vector<std::uint8_t> bytes;
  if (painter.Paint(payload, decoder, slot, 0) != nullptr) return bytes;
  for (std::size_t v = 0; v < slot.images.size(); ++v) {
    const std::vector<std::uint8_t> view = BytesOf(RowOf(slot, v, 0));
    bytes.insert(bytes.end(), view.begin(), view.end());
  }
  return bytes;
}

}  // namespace

TEST_CASE("All views of a JPEG with restart markers are decoded before the first is painted") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "one";
  JpegOptions form = StoredForm();
  const Picture picture = MakePicture(180, 140, 3, 5);
  {
    DatasetWriter writer(path, {{Field::Image()}}, {"one", 1'000'000, 4});
    SampleBuilder sample = writer.NewSample("a");
    sample.SetJpeg("image", MakeJpeg(picture, form));
    writer.Add(sample);
    writer.Finish();
  }
  LoaderOptions options = OptionsFor(1, 1);
  options.transform = {RandomResizedCrop(64)};
  for (int i = 0; i < 5; ++i)
    options.views.push_back({"v" + std::to_string(i), {RandomResizedCrop(24)}, {}});
  const std::shared_ptr<DatasetState> dataset = DatasetState::Open(path);
  const BatchRecipe recipe(*dataset, CheckedOptions(*dataset->facts, options));
  const std::vector<std::uint8_t> views = PaintRow(recipe, MakeJpeg(picture, form), false);
  REQUIRE(!views.empty());
  CHECK(PaintRow(recipe, MakeJpeg(picture, form), true) == views);
  // Without markers each view is decoded by itself, so the second one finds nothing to decode.
  form.restart_rows = 0;
  CHECK(PaintRow(recipe, MakeJpeg(picture, form), false) == views);
  CHECK(PaintRow(recipe, MakeJpeg(picture, form), true).empty());
}

TEST_CASE("Decoded pictures that are kept serve all views") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 24));
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = {Resize(24)};
  options.views = {{"second", TwoCrops(), {}}};
  options.keep = DecodedPictures{64 << 20};
  options.order.shuffle = Shuffle::kSequential;
  Loader loader(dataset, options);
  std::vector<std::vector<std::uint8_t>> epochs[2];
  for (std::uint64_t e = 0; e < 2; ++e)
    for (const Batch& batch : loader.Epoch(e))
      epochs[e].push_back(BytesOf(batch.image()));
  CHECK(epochs[0] == epochs[1]);
  CHECK(loader.Stats().kept_pictures == 24);
}

TEST_CASE("Kept rows are right if a crop follows a random flip") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 24));
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = {HorizontalFlip(), CenterCrop(21, 33)};
  const auto fresh = [&](std::uint64_t epoch) { return PlayViews(dataset, options, epoch); };
  const auto first = fresh(0), second = fresh(1);
  options.keep = DecodedPictures{64 << 20};
  Loader loader(dataset, options);
  std::vector<std::vector<std::uint8_t>> kept[2];
  for (std::uint64_t e = 0; e < 2; ++e)
    for (const Batch& batch : loader.Epoch(e))
      kept[e].push_back(BytesOf(batch.image()));
  CHECK(kept[0] == first);
  CHECK(kept[1] == second);
}

TEST_CASE("Batches grow with the epoch in a loader that is made once") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 30));
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = {RandomResizedCrop(64), HorizontalFlip()};
  options.sizes = {{0, 16, 16}, {2, 24, 20}};
  options.views = {{"second", {RandomResizedCrop(8)}, {{0, 8, 8}, {1, 12, 12}}}};
  options.sample_function = [](MutableSample& sample) {
    if (sample.image().size() != sample.shape().sample_bytes())
      throw Error(ErrorCode::kState, "of another size");
  };
  Loader loader(dataset, options);
  // There is memory for the larger of the two sizes.
  CHECK(loader.memory_bytes() >= 4 * 8 * (24 * 20 * 3 + 12 * 12 * 3));
  std::size_t epochs = 0;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch, ++epochs) {
    // The batches of a loader for only this size.
    LoaderOptions own = options;
    own.sizes = {{0, epoch < 2 ? 16U : 24U, epoch < 2 ? 16U : 20U}};
    own.views[0].sizes = {{0, epoch < 1 ? 8U : 12U, epoch < 1 ? 8U : 12U}};
    const auto expected = PlayViews(dataset, own, epoch);
    std::vector<std::vector<std::uint8_t>> played;
    for (const Batch& batch : loader.Epoch(epoch)) {
      REQUIRE(batch.image().width == (epoch < 2 ? 16 : 24));
      REQUIRE(batch.image("second").height == (epoch < 1 ? 8 : 12));
      played.push_back(BytesOf(batch.image()));
      played.push_back(BytesOf(batch.image("second")));
    }
    CHECK(played == expected);
  }
  CHECK(epochs == 4);
}

TEST_CASE("A resume in an epoch of a different size gives the batches that would have come") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 40));
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = {RandomResizedCrop(64), RandomAffine(20), TrivialAugmentWide{}};
  options.sizes = {{0, 16, 16}, {1, 24, 24}};
  Loader loader(dataset, options);
  const std::vector<PlayedBatch> all = PlayBatches(loader, 1);
  Loader first(dataset, options);
  CHECK(PlayBatches(first, 1, 2).size() == 2);
  options.resume_from = first.State();
  options.threads = 1;
  Loader second(dataset, options);
  const std::vector<PlayedBatch> rest = PlayBatches(second, 1);
  CHECK(rest == std::vector<PlayedBatch>(all.begin() + 2, all.end()));
}

TEST_CASE("Invalid views are refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 4));
  const auto refusal = [&](std::vector<View> views, Pipeline first = {Resize(8)}) {
    LoaderOptions options = OptionsFor(2, 1);
    options.transform = std::move(first);
    options.views = std::move(views);
    return ErrorText([&] { const Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal({{"", {Resize(8)}, {}}}), ContainsSubstring("name"));
  CHECK_THAT(refusal({{"a", {Resize(8)}, {}}, {"a", {Resize(8)}, {}}}), ContainsSubstring("\"a\""));
  CHECK_THAT(refusal({{"label", {Resize(8)}, {}}}), ContainsSubstring("field of the dataset"));
  CHECK_THAT(refusal({{"a", {HorizontalFlip{}}, {}}}), ContainsSubstring("differ in size"));
  CHECK_THAT(refusal({{"a", {Resize(8), OneHot{}}, {}}}), ContainsSubstring("not in a view"));
  CHECK_THAT(refusal({{"a", {Resize(8)}, {}}}, {Resize(8), OneHot{}, MixUp{}}),
             ContainsSubstring("several views"));
  CHECK_THAT(refusal({{"a", {Resize(8), GaussianBlur{23}}, {}}}), ContainsSubstring("kernel"));
  CHECK_THAT(refusal({{"a", {Resize(8), Invert{2}}, {}}}),
             ContainsSubstring("\"a\"") && ContainsSubstring("Invert needs a probability"));
}

TEST_CASE("A loader says how each step runs") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 4));
  const std::vector<float> mean = {0.5F}, deviation = {0.25F};
  LoaderOptions options = OptionsFor(2, 1);
  options.transform = {RandomResizedCrop(24), HorizontalFlip(), ColorJitter(.4, .4, .4),
                       Normalize(mean, deviation), OneHot{}};
  options.views = {{"small", {Resize(8), RandomAffine(10)}, {}}};
  const std::string text = Loader(dataset, options).Describe();
  CHECK(text ==
        "image: 24x24, 3 channels of float32, NHWC\n"
        "  RandomResizedCrop(24, 24, triangle)  fused with decoding\n"
        "  HorizontalFlip(0.5)                  fused with decoding\n"
        "  ColorJitter(0.4, 0.4, 0.4, 0)        a pass over the row's pixels\n"
        "  Normalize(0.5, 0.25, float32)        while the row is written\n"
        "  OneHot(smoothing 0, as \"target\")     for each sample, next to its label\n"
        "small (a view of image): 8x8, 3 channels of uint8, NHWC\n"
        "  Resize(8, 8, triangle)    fused with decoding\n"
        "  RandomAffine(-10, 10, 1)  a second pass, bilinear\n"
        "A picture is decoded once for all views if that is cheaper than once for each.\n");
  options.views.clear();
  // Parameters that are not the defaults are listed, too.
  RandomResizedCrop crop(24, 16);
  crop.min_scale = 0.25;
  RandomAffine affine(5);
  affine.max_scale = 1.5;
  affine.translate_y = 0.1;
  const auto erasing = RandomErasing(0.5).scale(0.02, 0.1).ratio(0.5, 2).with_value({1, 2, 3});
  ColorJitter jitter{.4, 0, 0, .1, .8};
  options.transform = {crop,
                       affine,
                       jitter,
                       erasing,
                       RandAugment(2).with_bilinear().with_fill({9, 0, 0}).with_probability(.5),
                       Normalize{{.5F, .25F, 0}, {1, 1, .5F}, FloatType::kBFloat16}};
  const std::string special = Loader(dataset, options).Describe();
  for (const char* step : {"RandomResizedCrop(24, 16, triangle, scale 0.25 to 1) ",
                           "RandomAffine(-5, 5, 1, shift 0 by 0.1, scale 1 to 1.5) ",
                           "ColorJitter(0.4, 0, 0, 0.1, probability 0.8) ",
                           "RandomErasing(0.5, 0.02, 0.1, ratio 0.5 to 2, value 1/2/3) ",
                           "RandAugment(2, 9, 31, bilinear, fill 9/0/0, probability 0.5) ",
                           "Normalize(0.5/0.25/0, 1/1/0.5, bfloat16) "})
    CHECK_THAT(special, ContainsSubstring(step));
  options.transform = {CenterCrop(8), RandomCrop(8)};
  options.keep = DecodedPictures{1 << 20};
  CHECK_THAT(Loader(dataset, options).Describe(), ContainsSubstring("decoded and kept whole"));
}
