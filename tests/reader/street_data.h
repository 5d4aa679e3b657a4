// Samples with fields of every kind: pictures of a street with masks, boxes, key points and texts.
#pragma once

#include "tests/reader/sample_data.h"

namespace sluice::test {

inline Schema StreetSchema() {
  const Field boxes = BoxesField();
  const Field classes = ClassesField();
  Field points = Field::Variable("points", DType::kFloat64, {2});
  points.role = Role::kKeypoints;
  points.follows = "image";
  return {{Field::Image(), Field::Mask("mask", "image"), boxes, classes, points,
           Field::Array("pose", DType::kFloat32, {2, 3}), Field::Label(),
           Field::Bytes("caption", Role::kText), Field::Bytes("blob"), Field::Image("depth")}};
}

inline std::string CaptionOf(std::uint64_t i) {
  return i % 5 == 0 ? "" : "caption " + std::string(i % 7, '*') + std::to_string(i);
}

// Pixel (x, y) of the picture and its mask.
inline std::uint8_t PixelAt(std::uint64_t i, std::uint32_t x, std::uint32_t y) {
  return static_cast<std::uint8_t>((x * 16 + y + i) % 256);
}

// Raw pictures of 16 x 12. Sample i has i % 4 points and boxes, of classes 100 i + 0, 1, ..., a
// blob of 40 i bytes, no caption if i % 3 == 0, and no mask if i % 11 == 10.
inline std::filesystem::path WriteStreet(const TemporaryFolder& folder, int count) {
  const std::filesystem::path path = folder / "street";
  DatasetWriter writer(path, StreetSchema(), {"street", 1'000'000, 8});
  for (int n = 0; n < count; ++n) {
    const auto i = static_cast<std::uint64_t>(n);
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(n));
    std::vector<std::uint8_t> pixels, mask;
    for (std::uint32_t y = 0; y < 12; ++y) {
      for (std::uint32_t x = 0; x < 16; ++x) {
        mask.push_back(PixelAt(i, x, y));
        pixels.insert(pixels.end(), 3, PixelAt(i, x, y));
      }
    }
    sample.SetPixels("image", 16, 12, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    if (i % 11 != 10) {
      sample.SetPixels("mask", 16, 12, 1, PixelType::kUint8, std::as_bytes(std::span(mask)), true);
    }
    sample.SetPixels("depth", 4, 4, 1, PixelType::kUint8, std::as_bytes(std::span(mask)).first(16));
    std::vector<float> boxes;
    std::vector<std::int32_t> classes;
    std::vector<double> points;
    for (std::uint64_t b = 0; b < i % 4; ++b) {
      const auto at = static_cast<float>(b);
      boxes.insert(boxes.end(), {at * 4, at, at * 4 + 4, at + 6});
      classes.push_back(static_cast<std::int32_t>(100 * i + b));
      points.insert(points.end(), {double(b), double(b) + 1});
    }
    sample.SetArray<float>("boxes", boxes);
    sample.SetArray<std::int32_t>("classes", classes);
    sample.SetArray<double>("points", points);
    const float pose[6] = {float(n), 1, 2, 3, 4, 5};
    sample.SetArray<float>("pose", pose);
    sample.Set<std::int32_t>("label", n);
    if (i % 3 != 0) sample.SetText("caption", CaptionOf(i), i % 2 == 0);
    const std::vector<std::byte> blob(i * 40, std::byte{static_cast<unsigned char>(i)});
    sample.SetBytes("blob", blob);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

}  // namespace sluice::test
