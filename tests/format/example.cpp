#include "tests/format/example.h"

#include "format/disk/zstd.h"

namespace sluice::test {

namespace {

std::string HexOf(Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[std::to_integer<unsigned>(byte) >> 4]);
    text.push_back(kDigits[std::to_integer<unsigned>(byte) & 15]);
  }
  return text.empty() ? "-" : text;
}

std::string ZstdOf(std::string_view content) {
  return std::string(AsText(ZstdCompress(AsBytes(content))));
}

EncodedSample VariedSample(std::uint32_t i) {
  EncodedSample sample;
  sample.key = "folder " + std::to_string(i % 3) + "/\xC3\xA9tude-" + std::to_string(i) + ".jpg";
  std::string pixels(std::size_t{4} * (i % 5 + 1) * 2, '\0');
  for (std::size_t p = 0; p < pixels.size(); ++p)
    pixels[p] = static_cast<char>(i * 7 + p);
  sample.fields.push_back(ImageValue(4, i % 5 + 1, 1, pixels, Codec::kRaw, PixelType::kUint16));
  sample.fields.push_back(
      i % 4 == 1 ? FieldValue{} : ImageValue(8, 4, 1, ZstdOf(std::string(32, 'm')), Codec::kZstd));
  sample.fields.push_back(ArrayValue<std::int8_t>({static_cast<std::int8_t>(-int(i))}));
  sample.fields.push_back(ArrayValue<double>({0.5 * i, -1.0 / (i + 1), 1e300}));
  std::string boxes(16 * (i % 3), '\0');
  for (std::size_t b = 0; b < boxes.size(); ++b)
    boxes[b] = static_cast<char>(i + b);
  sample.fields.push_back(i % 6 == 5 ? FieldValue{} : PayloadValue(boxes));
  sample.fields.push_back(PayloadValue(ZstdOf("caption of " + std::to_string(i)), Codec::kZstd));
  sample.fields.push_back(ArrayValue<std::int64_t>({std::int64_t{-1} - i}));
  return sample;
}

}  // namespace

ExampleDataset WorkedExample() {
  ExampleDataset dataset;
  dataset.schema.fields = {Field::Image(), Field::Label("label", {"cat", "dog"}),
                           Field::Bytes("caption", Role::kText)};
  dataset.samples = {
      {"cat/1.png",
       {ImageValue(2, 2, 3, "\xFF\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B"),
        ArrayValue<std::int32_t>({0}), PayloadValue("a cat")}},
      {"dog/2.png",
       {ImageValue(2, 2, 3, "\xFF\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B"),
        ArrayValue<std::int32_t>({1}), FieldValue{}}},
  };
  Id128 id;
  for (std::uint8_t i = 0; i < 16; ++i)
    id.bytes[i] = static_cast<std::uint8_t>(0xA0 + i);
  dataset.shards = {BuildShard(dataset.schema, id, 8, dataset.samples)};
  dataset.manifest = ManifestOf("example", dataset.schema, dataset.shards, dataset.samples);
  return dataset;
}

ExampleDataset VariedExample() {
  ExampleDataset dataset;
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "photo";
  boxes.coordinates = "xyxy-pixels";
  Field photo = Field::Image("photo");
  photo.attributes = {{"camera", "front \"left\""}};
  dataset.schema.fields = {photo,
                           Field::Mask("mask", "photo"),
                           Field::Array("tiny", DType::kInt8, {}),
                           Field::Array("vector", DType::kFloat64, {3}),
                           boxes,
                           Field::Bytes("caption", Role::kText),
                           Field::Array("number", DType::kInt64, {})};
  for (std::uint32_t i = 0; i < 23; ++i)
    dataset.samples.push_back(VariedSample(i));
  const std::span<const EncodedSample> all(dataset.samples);
  dataset.shards = {BuildShard(dataset.schema, IdOf(1), 4, all.first(10)),
                    BuildShard(dataset.schema, IdOf(2), 6, all.subspan(10, 12), {{2, "{}"}}),
                    BuildShard(dataset.schema, IdOf(3), 5, all.subspan(22), {{777, "later"}})};
  dataset.manifest = ManifestOf("varied", dataset.schema, dataset.shards, dataset.samples);
  return dataset;
}

std::string ExpectedText(const ExampleDataset& dataset) {
  std::string text;
  for (std::size_t s = 0; s < dataset.samples.size(); ++s) {
    const EncodedSample& sample = dataset.samples[s];
    text += "sample " + std::to_string(s) + "\n  key " + HexOf(AsBytes(sample.key)) + "\n";
    for (std::size_t f = 0; f < sample.fields.size(); ++f) {
      const Field& field = dataset.schema.fields[f];
      const FieldValue& value = sample.fields[f];
      text += "  " + field.name + " ";
      if (field.kind == FieldKind::kArray) {
        text += HexOf(value.bytes) + "\n";
        continue;
      }
      text += "codec " + std::to_string(static_cast<int>(value.codec));
      if (field.kind == FieldKind::kImage && value.codec != Codec::kAbsent) {
        text += " " + std::to_string(value.width) + "x" + std::to_string(value.height) + "x" +
                std::to_string(value.channels) +
                (value.pixel_type == PixelType::kUint16 ? " uint16" : " uint8");
      }
      if (value.codec != Codec::kAbsent) text += " " + HexOf(value.bytes);
      text += "\n";
    }
  }
  return text;
}

}  // namespace sluice::test
