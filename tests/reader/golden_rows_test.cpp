// Rows of every geometric step and of usual recipes, as digests that were taken once. A change of
// the code that computes frames must not change a byte of them.
#include <cstring>

#include <sluice/parse_pipeline.h>

#include "format/disk/checksum.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

Schema GoldenSchema() {
  const Field boxes = BoxesField();
  Field shares = Field::Variable("shares", DType::kFloat64, {4});
  shares.role = Role::kBoxes;
  shares.follows = "image";
  shares.coordinates = "cxcywh-relative";
  const Field classes = ClassesField();
  Field points = Field::Array("points", DType::kFloat64, {4, 3});
  points.role = Role::kKeypoints;
  points.follows = "image";
  points.attributes["flip_pairs"] = "1-2";
  Field depth = Field::Image("depth");
  depth.follows = "image";
  return {{Field::Image(), Field::Mask("mask", "image"), boxes, shares, classes, points, depth}};
}

// Pictures that are raw, JPEG and packed in turn, of 36 to 53 by 30 to 46 pixels. Masks have half
// of their size, and "depth" holds 16 bits.
std::filesystem::path WriteGolden(const TemporaryFolder& folder) {
  const std::filesystem::path path = folder / "golden";
  DatasetWriter writer(path, GoldenSchema(), {"golden", 1'000'000, 8});
  for (std::uint32_t i = 0; i < 12; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const std::uint32_t width = 36 + i * 7 % 18, height = 30 + i * 5 % 17;
    const Picture picture = MakePicture(width, height, 3, i);
    if (i % 3 == 0) {
      sample.SetPixels("image", width, height, 3, PixelType::kUint8,
                       std::as_bytes(std::span(picture.pixels)));
    } else if (i % 3 == 1) {
      sample.SetJpeg("image", MakeJpeg(picture, StoredForm()));
    } else {
      sample.SetPacked("image", MakeJpeg(picture, StoredForm()));
    }
    std::vector<std::uint8_t> mask;
    for (std::uint32_t v = 0; v < (width / 2) * (height / 2); ++v)
      mask.push_back(static_cast<std::uint8_t>(v * 7 + i));
    sample.SetPixels("mask", width / 2, height / 2, 1, PixelType::kUint8,
                     std::as_bytes(std::span(mask)));
    std::vector<std::uint16_t> depth;
    for (std::uint32_t v = 0; v < width * height; ++v)
      depth.push_back(static_cast<std::uint16_t>(v * 77 + i));
    sample.SetPixels("depth", width, height, 1, PixelType::kUint16,
                     std::as_bytes(std::span(depth)));
    std::vector<float> boxes;
    std::vector<double> shares, points;
    std::vector<std::int32_t> classes;
    for (std::uint32_t b = 0; b < i % 5; ++b) {
      const auto x = static_cast<float>(b * 6) + 0.25F, y = static_cast<float>(b * 5) + 0.5F;
      boxes.insert(boxes.end(), {x, y, x + 11.5F, y + 9.75F});
      shares.insert(shares.end(), {0.2 + b * 0.15, 0.3 + b * 0.1, 0.3, 0.4});
      classes.push_back(static_cast<std::int32_t>(10 * i + b));
    }
    for (std::uint32_t p = 0; p < 4; ++p)
      points.insert(points.end(), {p * 9.3 + i, p * 7.1 + 2, p == 3 ? 0.0 : 2.0});
    sample.SetArray<float>("boxes", boxes);
    sample.SetArray<double>("shares", shares);
    sample.SetArray<std::int32_t>("classes", classes);
    sample.SetArray<double>("points", points);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

class GoldenDigest {
 public:
  template <class T>
  void Add(std::span<const T> values) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
    bytes_.insert(bytes_.end(), bytes, bytes + values.size_bytes());
  }
  std::uint64_t Take() const { return Hash64(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Of two epochs of these steps.
std::uint64_t DigestOf(const std::filesystem::path& dataset, const Pipeline& steps, bool depth,
                       Layout layout) {
  LoaderOptions options;
  options.transform = steps;
  options.output.image_sizes = ImageSizes::kPadded;
  options.output.layout = layout;
  options.output.fields = {"image", "mask", "boxes", "shares", "classes", "points"};
  if (depth) options.output.fields.push_back("depth");
  options.batch_size = 6;
  options.threads = 1;
  options.seed = 11;
  Loader loader(Dataset::Open(dataset), options);
  GoldenDigest digest;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (const Batch& batch : loader.Epoch(epoch)) {
      for (const char* const name : {"image", "mask", "depth"}) {
        if (!depth && name == std::string("depth")) continue;
        const ImageBatch image = batch.image(name);
        digest.Add(std::span(image.data, image.samples * image.sample_bytes()));
      }
      digest.Add(batch.sizes());
      digest.Add(batch.Variable<float>("boxes").values);
      digest.Add(batch.Variable<double>("shares").values);
      digest.Add(batch.Variable<std::int32_t>("classes").values);
      digest.Add(batch.Field<double>("points"));
    }
  }
  return digest.Take();
}

struct GoldenRows {
  const char* steps;
  std::uint64_t digest;
};

constexpr GoldenRows kGoldenRows[] = {
    {"rrc:24,flip", 0xd5439c8f01fd8c81},
    {"rrc:24x18:area,flip,vflip", 0x403dfa61325be61e},
    {"resize:30x22", 0x12d703aa068030ef},
    {"resize:70x64,flip", 0xd7762560f4a6e737},
    {"short:28,center:24x20", 0xd5377604bc8daa3c},
    {"short:20,center:24", 0xd3c594b896955b18},
    {"center:64,flip,turns", 0xba66391d67888725},
    {"crop:30+4,turns:0.5,center:25,crop:20", 0x9f8c9139045384c2},
    {"crop:24+4,flip", 0x6dbf0608cfc91407},
    {"crop:24+9:reflect,flip,turns", 0xe6a6d17460711301},
    {"crc:24:area,vflip", 0xbf8a2b165666f987},
    {"resize:40,translate:9,flip", 0xe850a84c5c59296d},
    {"resize:40,translate:9:reflect,turns", 0xf8a7aa5787f4d52},
    {"crop:60+3,crop:24", 0xcadd476599982368},
    {"resize:32,affine:30/0.1", 0x844a42bfe97fc5ef},
    {"rrc:20x28,affine:20/0.2/0.5/1.5/10,flip,vflip", 0x8184d131ea792436},
    {"crop:30+6,affine:45@0.7,turns,flip", 0x482c73dba56c926c},
    {"translate:6", 0x60b00223b931822},
    {"short:20,flip,translate:3", 0x72e4aeae7d6991b6},
    {"none", 0x254a0e8931cc08d9},
};

}  // namespace

TEST_CASE("Rows of geometric steps have the bytes that they have always had") {
  const TemporaryFolder folder;
  const std::filesystem::path dataset = WriteGolden(folder);
  for (const GoldenRows& golden : kGoldenRows) {
    INFO(golden.steps);
    CHECK(DigestOf(dataset, ParsePipeline(golden.steps), true, Layout::kNHWC) == golden.digest);
  }
}

TEST_CASE("Rows with colours, and borders of a colour, have the bytes that they have always had") {
  const TemporaryFolder folder;
  const std::filesystem::path dataset = WriteGolden(folder);
  const auto digest_of = [&](const Pipeline& steps) {
    return DigestOf(dataset, steps, false, Layout::kNCHW);
  };
  constexpr std::array<std::uint8_t, 3> kFill = {114, 20, 250};
  CHECK(digest_of({RandomCrop(30, 8).with_fill(kFill), HorizontalFlip()}) == 0x488629b71d94b00f);
  CHECK(digest_of({Resize(32), RandomAffine(40).with_fill(kFill), VerticalFlip()}) ==
        0xe5823296f7946cb5);
  CHECK(digest_of({RandomCrop(28, 9).with_fill({9, 8, 7}), RandomAffine(40).with_fill(kFill),
                   RandomQuarterTurns()}) == 0x8d72d6d19cdfc954);
  CHECK(digest_of({RandomResizedCrop(24), HorizontalFlip(), ColorJitter(.4, .4, .4),
                   GaussianBlur(3), RandomErasing(1)}) == 0xf3909aae6f27ecab);
  CHECK(digest_of({RandomResizedCrop(24), RandomAffine(20), HorizontalFlip(), Normalize()}) ==
        0x9c8e1ea6582363ed);
}
