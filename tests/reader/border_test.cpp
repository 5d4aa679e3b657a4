// Pixels beyond a picture's edge: the values that masks have there, and the border that the user's
// functions see.
#include <algorithm>
#include <cstring>
#include <optional>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::uint16_t kClass = 7, kWideClass = 700;

// White pictures of different sizes. Each has a mask of its own size and a wide mask: half the
// size, two channels of 16 bits. Each mask holds one class. Sample 5 has no wide mask.
std::filesystem::path WriteWhite(const TemporaryFolder& folder, int count) {
  const std::filesystem::path path = folder / "white";
  DatasetWriter writer(
      path, {{Field::Image(), Field::Mask("mask", "image"), Field::Mask("wide", "image")}},
      {"white", 1'000'000, 8});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const auto width = static_cast<std::uint32_t>(12 + i % 3 * 4);
    const auto height = static_cast<std::uint32_t>(10 + i % 2 * 6);
    const std::vector<std::uint8_t> white(std::size_t{width} * height * 3, 255);
    const std::vector<std::uint8_t> mask(std::size_t{width} * height, kClass);
    const std::vector<std::uint16_t> wide(std::size_t{width / 2} * (height / 2) * 2, kWideClass);
    sample.SetPixels("image", width, height, 3, PixelType::kUint8, std::as_bytes(std::span(white)));
    sample.SetPixels("mask", width, height, 1, PixelType::kUint8, std::as_bytes(std::span(mask)));
    if (i != 5) {
      sample.SetPixels("wide", width / 2, height / 2, 2, PixelType::kUint16,
                       std::as_bytes(std::span(wide)));
    }
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

constexpr std::size_t kSide = 16;
constexpr std::size_t kPixels = kSide * kSide;

// Cases that put borders around pictures: plain, mirrored and turned, and mixed with a warp's
// border.
struct BorderCase {
  const char* name;
  bool warps;  // whether a step mixes pixels, so that a border is not exactly black
  Pipeline steps;
};
std::vector<BorderCase> BorderCases() {
  RandomAffine affine(180);
  affine.translate_x = affine.translate_y = 0.2;
  affine.min_scale = 0.5;
  affine.max_scale = 1.5;
  affine.min_shear_x = -30;
  affine.max_shear_y = 20;
  return {{"a padded crop", false, {RandomCrop(kSide, 6), HorizontalFlip(), VerticalFlip()}},
          {"a crop that is larger", false, {CenterCrop(kSide), RandomQuarterTurns()}},
          {"a translation", false, {RandomResizedCrop(kSide), RandomTranslate{5}}},
          {"a rotation", true, {Resize(kSide), RandomAffine(45)}},
          {"all of them",
           true,
           {RandomCrop(kSide, 4), affine, HorizontalFlip(), VerticalFlip(), RandomQuarterTurns()}}};
}

LoaderOptions BorderOptions(const BorderCase& of) {
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = of.steps;
  options.views = {{"second", of.steps, {}}};
  options.output.mask_fill = {{"mask", 255}, {"wide", 65535}};
  options.output.made_fields = {Field::Array("border", DType::kUint8, {kSide, kSide}),
                                Field::Array("border of second", DType::kUint8, {kSide, kSide})};
  options.sample_function = [](MutableSample& sample) {
    sample.WriteBorder(sample.Field<std::uint8_t>("border"));
    sample.WriteBorder(sample.Field<std::uint8_t>("border of second"), "second");
  };
  return options;
}

// Compares the map of a border with a white picture that has a black border. If a warp has mixed
// white and black, a pixel inside the picture is at least half white at an edge and at least a
// quarter white at a corner, and a pixel of the border is at most half white. So one that is more
// than half white lies inside, and one that is less than a quarter white belongs to the border.
void CheckBorder(const std::uint8_t* map, const std::uint8_t* picture, bool warps) {
  for (std::size_t p = 0; p < kPixels; ++p) {
    const int white = picture[p * 3];
    REQUIRE(map[p] <= 1);
    if (warps ? white > 130 : white == 255) REQUIRE(map[p] == 0);
    if (warps ? white < 62 : white != 255) REQUIRE(map[p] == 1);
  }
}

}  // namespace

TEST_CASE("A function learns which pixels are border, after all geometric steps, in every view") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteWhite(folder, 60));
  for (const BorderCase& of : BorderCases()) {
    INFO(of.name);
    Loader loader(dataset, BorderOptions(of));
    std::size_t border = 0, shown = 0;
    for (const Batch& batch : loader.Epoch(1)) {
      const auto map = batch.Field<std::uint8_t>("border");
      const auto second = batch.Field<std::uint8_t>("border of second");
      for (std::size_t row = 0; row < batch.size(); ++row) {
        CheckBorder(&map[row * kPixels], batch.image().data + row * kPixels * 3, of.warps);
        CheckBorder(&second[row * kPixels], batch.image("second").data + row * kPixels * 3,
                    of.warps);
      }
      border += static_cast<std::size_t>(std::count(map.begin(), map.end(), 1));
      shown += static_cast<std::size_t>(std::count(map.begin(), map.end(), 0));
    }
    CHECK((border > 500 && shown > 500));
  }
}

TEST_CASE("Masks hold mask_fill in their border, with 8 and 16 bits and in either layout") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteWhite(folder, 60));
  for (const BorderCase& of : BorderCases()) {
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      INFO(of.name);
      LoaderOptions options = BorderOptions(of);
      options.output.layout = layout;
      std::vector<std::vector<std::uint8_t>> played;
      for (const unsigned threads : {1U, 4U}) {
        options.threads = threads;
        Loader loader(dataset, options);
        std::vector<std::uint8_t>& bytes = played.emplace_back();
        for (const Batch& batch : loader.Epoch(2)) {
          const auto map = batch.Field<std::uint8_t>("border");
          const std::uint8_t* const mask = batch.image("mask").Values<std::uint8_t>();
          const std::uint16_t* const wide = batch.image("wide").Values<std::uint16_t>();
          bytes.insert(bytes.end(), mask, mask + map.size());
          for (std::size_t i = 0; i < map.size(); ++i) {
            const std::size_t row = i / kPixels, p = i % kPixels;
            REQUIRE(mask[i] == (map[i] == 1 ? 255 : kClass));
            for (std::size_t c = 0; c < 2; ++c) {
              const std::size_t at = layout == Layout::kNHWC ? p * 2 + c : c * kPixels + p;
              const bool absent = batch.samples()[row] == 5;
              const int expected = absent || map[i] == 1 ? 65535 : kWideClass;
              REQUIRE(wide[row * kPixels * 2 + at] == expected);
            }
          }
        }
      }
      CHECK(played[0] == played[1]);
    }
  }
}

TEST_CASE("Pictures, and masks that mask_fill does not name, keep their border") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteWhite(folder, 24));
  for (const BorderCase& of : BorderCases()) {
    INFO(of.name);
    LoaderOptions options = BorderOptions(of);
    Loader filled(dataset, options);
    const std::vector<PlayedBatch> pictures = PlayBatches(filled, 0);
    options.output.mask_fill = {{"wide", 3}};
    Loader loader(dataset, options);
    CHECK(PlayBatches(loader, 0) == pictures);
    for (const Batch& batch : loader.Epoch(0)) {
      const auto map = batch.Field<std::uint8_t>("border");
      for (std::size_t i = 0; i < map.size(); ++i)
        REQUIRE(batch.image("mask").data[i] == (map[i] == 1 ? 0 : kClass));
    }
  }
}

TEST_CASE("A border that mirrors the picture also mirrors its mask, and counts as border") {
  const TemporaryFolder folder;
  LoaderOptions options = BorderOptions({"", false, {RandomCrop(kSide, 6, Border::kReflect)}});
  Loader loader(Dataset::Open(WriteWhite(folder, 24)), options);
  std::size_t border = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    const auto map = batch.Field<std::uint8_t>("border");
    border += static_cast<std::size_t>(std::count(map.begin(), map.end(), 1));
    const std::uint8_t* const mask = batch.image("mask").data;
    REQUIRE(std::count(mask, mask + map.size(), kClass) == std::ptrdiff_t(map.size()));
  }
  CHECK(border > 500);
}

TEST_CASE("Masks played alone have mask_fill in their border, too") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(8, 2);
  options.output.image = "mask";
  options.output.fields = {"mask"};
  options.transform = {CenterCrop(20)};
  options.output.mask_fill = {{"mask", 200}};
  Loader loader(Dataset::Open(WriteWhite(folder, 6)), options);
  for (const Batch& batch : loader.Epoch(0)) {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint64_t i = batch.samples()[row];
      const std::size_t pixels = (12 + i % 3 * 4) * (10 + i % 2 * 6);
      const std::uint8_t* const mask = batch.image().data + row * 400;
      CHECK(std::count(mask, mask + 400, kClass) == std::ptrdiff_t(pixels));
      CHECK(std::count(mask, mask + 400, 200) == std::ptrdiff_t(400 - pixels));
    }
  }
  CHECK_THAT(loader.Describe(), ContainsSubstring("NHWC; 200 in a border of one colour\n"));
}

TEST_CASE("A batch function learns every row's border, without the rows that are left out") {
  const TemporaryFolder folder;
  LoaderOptions options = BorderOptions(BorderCases().back());
  options.integrity.on_fault = OnFault::kSkip;
  options.sample_function = [of_sample = options.sample_function](MutableSample& sample) {
    of_sample(sample);
    if (sample.index() % 5 == 3) throw std::runtime_error("left out");
  };
  options.batch_function = [](MutableBatch& batch) {
    for (const char* image : {"image", "second", "mask"}) {
      std::vector<std::uint8_t> map(batch.size() * kPixels, 9);
      batch.WriteBorder(map, image);
      const std::span<std::uint8_t> expected = batch.Field<std::uint8_t>(
          std::string_view(image) == "second" ? "border of second" : "border");
      if (!std::equal(map.begin(), map.end(), expected.begin(), expected.end()))
        throw std::runtime_error(std::string("wrong border of ") + image);
    }
  };
  Loader loader(Dataset::Open(WriteWhite(folder, 60)), options);
  CHECK(SamplesOf(PlayBatches(loader, 0)).size() == 48);
}

TEST_CASE("A border that cannot be computed, or whose map has the wrong size, is an error") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteWhite(folder, 6));
  LoaderOptions options = OptionsFor(6, 1);
  options.output.fields = {"image"};
  options.transform = {Resize(8)};
  options.sample_function = [](MutableSample& sample) {
    std::vector<std::uint8_t> map(63);
    sample.WriteBorder(map);
  };
  const auto refusal = [&] {
    Loader loader(dataset, options);
    return ErrorText([&] { PlayBatches(loader, 0); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal(), ContainsSubstring("needs a map of 64 bytes"));
  options.transform.push_back(RandAugment{});
  CHECK_THAT(refusal(), ContainsSubstring("field \"image\" goes through RandAugment"));
  options.output.mask_fill = {{"wide", 0}};
  options.output.fields = {};
  options.transform = {Resize(8)};
  options.output.made_fields = {Field::Array("border", DType::kUint8, {8, 8})};
  options.sample_function = [](MutableSample& sample) {
    sample.WriteBorder(sample.Field<std::uint8_t>("border"), "wide");
  };
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    const auto map = batch.Field<std::uint8_t>("border");
    for (std::size_t i = 0; i < map.size(); ++i)
      REQUIRE(map[i] == (batch.samples()[i / 64] == 5 ? 1 : 0));  // sample 5 has no such mask
  }
}

TEST_CASE("Samples that are chosen need no mask_fill if each of them has its mask") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteWhite(folder, 8));
  LoaderOptions options = OptionsFor(2, 1);
  options.transform = {CenterCrop(8)};
  const auto play = [&] {
    Loader loader(dataset, options);
    std::size_t rows = 0;
    for (const Batch& batch : loader.Epoch(0))
      rows += batch.size();
    return rows;
  };
  CHECK_THAT(ErrorText(play, ErrorCode::kInvalidArgument),
             ContainsSubstring("1 of 8 pictures have no mask"));
  const auto has_mask = [](const Sample& sample) { return sample.Has("wide"); };
  options.order.samples = SampleList::Where(dataset, has_mask);
  CHECK(play() == 7);
  options.order.samples = SampleList::Of({4, 5});
  CHECK_THAT(ErrorText(play, ErrorCode::kInvalidArgument),
             ContainsSubstring("key-5") && ContainsSubstring("\"wide\": the sample has no mask") &&
                 ContainsSubstring("LoaderOptions::output.mask_fill"));
  options.output.mask_fill = {{"wide", 255}};
  CHECK(play() == 2);
}

TEST_CASE("A mask_fill that does not fit is refused, and a valid one is described") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteWhite(folder, 6));
  LoaderOptions options = OptionsFor(6, 1);
  options.transform = {CenterCrop(20)};
  const auto refusal = [&](const char* name, std::uint32_t value) {
    options.output.mask_fill = {{"wide", 0}};  // which a sample lacks
    options.output.mask_fill[name] = value;
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal("mask", 256),
             ContainsSubstring("\"mask\", a mask of uint8, which does not have this value"));
  CHECK_THAT(refusal("wide", 65536), ContainsSubstring("a mask of uint16"));
  CHECK_THAT(refusal("image", 1), ContainsSubstring("which is not a mask"));
  CHECK_THAT(refusal("msak", 1), ContainsSubstring("no field \"msak\""));
  options.output.mask_fill = {{"wied", 255}};
  CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("no field \"wied\""));
  options.output.fields = {"image", "wide"};
  CHECK_THAT(refusal("mask", 1), ContainsSubstring("LoaderOptions::output.fields leaves out"));
  options.output.mask_fill = {{"wide", 65535}};
  CHECK_THAT(Loader(dataset, options).Describe(),
             ContainsSubstring("wide: 20x20, 2 channels of uint16, NHWC; the geometric steps, by "
                               "the nearest pixel; 65535 in a border of one colour\n"));
}
