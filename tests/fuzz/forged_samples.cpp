#include "tests/fuzz/forged_samples.h"

#include <map>

#include "format/disk/zstd.h"
#include "format/pixels/packed/pack.h"
#include "tests/format/built_shard.h"
#include "tests/fuzz/jpeg_mutate.h"
#include "tests/fuzz/mutate.h"
#include "tests/pictures.h"

namespace sluice::fuzz {

namespace {

using File = std::vector<std::byte>;

FieldValue Compressed(std::string_view content) {
  return test::PayloadValue(AsText(ZstdCompress(AsBytes(content))), Codec::kZstd);
}

FieldValue PictureValue(std::uint8_t form, std::uint32_t seed) {
  constexpr std::uint32_t kWidth = 24, kHeight = 16;
  const test::Picture picture = test::MakePicture(kWidth, kHeight, 3, seed);
  const std::string_view pixels = AsText(std::as_bytes(std::span(picture.pixels)));
  switch (form) {
    case 2: {
      packed::Coefficients coefficients;
      std::string why;
      packed::ReadCoefficients(test::MakeJpeg(picture), coefficients, why);
      return test::ImageValue(kWidth, kHeight, 3, AsText(packed::Pack(coefficients)),
                              Codec::kPacked);
    }
    case 3: return test::ImageValue(kWidth, kHeight, 3, pixels);
    case 4:
      return test::ImageValue(kWidth / 2, kHeight, 3, pixels, Codec::kRaw, PixelType::kUint16);
    case 5:
      return test::ImageValue(kWidth, kHeight, 3, AsText(ZstdCompress(AsBytes(pixels))),
                              Codec::kZstd);
    default:
      return test::ImageValue(kWidth, kHeight, 3,
                              AsText(test::MakeJpeg(picture, {.restart_rows = 1})), Codec::kJpeg);
  }
}

EncodedSample SampleOf(std::uint8_t form, std::uint32_t i) {
  EncodedSample sample{"some/" + std::to_string(i) + ".jpg", {}};
  sample.fields = {PictureValue(form, i + 1),
                   test::ArrayValue<std::int32_t>({static_cast<std::int32_t>(i % 3)})};
  if (form == 0) return sample;
  const std::uint32_t width = sample.fields[0].width, height = sample.fields[0].height;
  const std::string mask(std::size_t{width} * height, static_cast<char>(i % 4));
  sample.fields.push_back(
      test::ImageValue(width, height, 1, AsText(ZstdCompress(AsBytes(mask))), Codec::kZstd));
  const float corners[] = {1, 2, 10, 12, 0, 0, 5, 6};
  const std::int32_t kinds[] = {1, 0};
  const std::size_t boxes = i % 3;
  sample.fields.push_back(
      test::PayloadValue(AsText(std::as_bytes(std::span(corners).first(boxes * 4)))));
  sample.fields.push_back(Compressed(AsText(std::as_bytes(std::span(kinds).first(boxes)))));
  sample.fields.push_back(test::ArrayValue<float>({1, 2, 3, 4}));
  sample.fields.push_back(i == 4 ? FieldValue{} : Compressed("what is seen in " + sample.key));
  sample.fields.push_back(test::PayloadValue("sound " + std::to_string(i)));
  return sample;
}

// Bounded so that a test is not too slow.
const File& ZerosFrame(std::uint64_t bytes) {
  static std::map<std::uint64_t, File> frames;
  File& frame = frames[bytes];
  if (frame.empty()) frame = ZstdCompress(File(bytes));
  return frame;
}

std::string OddKey(std::uint32_t number) {
  static const std::string kOdd[] = {"",         "../../up.jpg",      "/etc/root.jpg",
                                     "some",     "some/0.jpg/in.jpg", std::string("zero\0.jpg", 9),
                                     "\xFF\xFE", "=1+1,\"\n",         std::string(65535, 'k'),
                                     "a//b/.",   "some/1.png",        std::string(300, 'n') + "/x"};
  return kOdd[number % std::size(kOdd)];
}

void ChangeEntry(FieldValue& value, const Change& change) {
  switch (change.at % 5) {
    case 0: value.codec = static_cast<Codec>(change.number % 7); return;
    case 1: value.width = static_cast<std::uint32_t>(NumberFor(change, value.width)); return;
    case 2: value.height = static_cast<std::uint32_t>(NumberFor(change, value.height)); return;
    case 3: value.channels = static_cast<std::uint8_t>(NumberFor(change, value.channels)); return;
    default: value.pixel_type = static_cast<PixelType>(change.number % 3); return;
  }
}

}  // namespace

Schema SchemaOf(std::uint8_t form) {
  const std::vector<std::string> classes = {"cat", "dog", "owl"};
  Schema schema{{Field::Image(), Field::Label("label", classes)}};
  if (form == 0) return schema;  // as converted from a folder, so that `append` works
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  boxes.coordinates = "xyxy-pixels";
  Field kinds = Field::Variable("kinds", DType::kInt32, {});
  kinds.role = Role::kLabel;
  kinds.follows = "image";
  kinds.classes = {"head", "tail"};
  Field points = Field::Array("points", DType::kFloat32, {2, 2});
  points.role = Role::kKeypoints;
  points.follows = "image";
  for (Field& field :
       std::vector<Field>{Field::Mask("mask", "image"), boxes, kinds, points,
                          Field::Bytes("caption", Role::kText), Field::Bytes("sound")})
    schema.fields.push_back(std::move(field));
  return schema;
}

std::vector<EncodedSample> SamplesOf(std::uint8_t form) {
  std::vector<EncodedSample> samples;
  for (std::uint32_t i = 0; i < 10; ++i)
    samples.push_back(SampleOf(form, i));
  return samples;
}

void ChangeSample(EncodedSample& sample, const EncodedSample& other, const Change& change) {
  if (change.place == kKey) {
    sample.key = change.value % 4 == 0 ? other.key : OddKey(change.number);
    return;
  }
  const std::size_t f = change.field % sample.fields.size();
  FieldValue& value = sample.fields[f];
  if (change.place == kElements) return ChangeWord(value.bytes, change);
  if (value.codec == Codec::kAbsent) return;  // or an array
  switch (change.place) {
    case kPayload: {
      RandomStream random(change.number, static_cast<Purpose>(0xF26), 0);
      (value.codec == Codec::kJpeg ? MutateJpeg : Mutate)(value.bytes, other.fields[f].bytes,
                                                          random);
      return;
    }
    case kZeros:
      value.bytes = ZerosFrame((std::uint64_t{1} << change.number % 23) + change.value % 3 - 1);
      value.codec = Codec::kZstd;
      return;
    case kZeroImage:
      value.width = 1U << change.number % 12;
      value.height = 1U << change.number / 16 % 12;
      value.bytes = ZerosFrame(std::uint64_t{value.width} * value.height * value.channels *
                               SizeOf(value.pixel_type));
      value.codec = Codec::kZstd;
      return;
    default: ChangeEntry(value, change); return;
  }
}

}  // namespace sluice::fuzz
