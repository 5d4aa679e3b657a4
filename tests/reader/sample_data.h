// Small datasets for the reader's tests, written by DatasetWriter.
#pragma once

#include <string>
#include <vector>

#include <sluice/dataset_writer.h>

#include "tests/pictures.h"
#include "tests/temporary_folder.h"

namespace sluice::test {

// Boxes of "image" in pixels, and the class of each.
inline Field BoxesField() {
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  boxes.coordinates = "xyxy-pixels";
  return boxes;
}
inline Field ClassesField() {
  Field classes = Field::Variable("classes", DType::kInt32, {});
  classes.role = Role::kLabel;
  classes.follows = "image";
  return classes;
}

// `count` raw 8x8 pictures whose pixels all hold index % 251, with label index % 10 and key
// "key-INDEX".
inline std::filesystem::path WriteRawDataset(const TemporaryFolder& folder, int count,
                                             std::uint32_t block_samples = 16,
                                             std::uint64_t shard_bytes = 1'000'000) {
  const std::filesystem::path path = folder / "raw";
  DatasetWriter writer(
      path,
      {{Field::Image(), Field::Label("label", {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})}},
      {"raw", shard_bytes, block_samples});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const std::vector<std::uint8_t> pixels(8 * 8 * 3, static_cast<std::uint8_t>(i % 251));
    sample.SetPixels("image", 8, 8, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int32_t>("label", i % 10);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

// `count` JPEGs of differing size with label index % 3.
inline std::filesystem::path WriteJpegDataset(const TemporaryFolder& folder, int count,
                                              const JpegOptions& form = {}) {
  const std::filesystem::path path = folder / "jpeg";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label", {"x", "y", "z"})}},
                       {"jpeg", 1'000'000, 4});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    const auto width = static_cast<std::uint32_t>(80 + i % 17);
    const auto height = static_cast<std::uint32_t>(60 + i % 23);
    sample.SetJpeg("image",
                   MakeJpeg(MakePicture(width, height, 3, static_cast<std::uint64_t>(i)), form));
    sample.Set<std::int32_t>("label", i % 3);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

inline constexpr std::uint64_t kPictureBytes = 64 * 64 * 3;  // in WriteLargerDataset()

// `count` raw pictures of 64x64 whose pixels all hold index % 256, with label index % 2 and key
// "key-INDEX"; blocks of 16, about 200 kB.
inline std::filesystem::path WriteLargerDataset(const TemporaryFolder& folder, int count) {
  const std::filesystem::path path = folder / "larger";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label", {"a", "b"})}},
                       {"larger", 100'000'000, 16});
  std::vector<std::uint8_t> pixels(kPictureBytes);
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    std::fill(pixels.begin(), pixels.end(), static_cast<std::uint8_t>(i));
    sample.SetPixels("image", 64, 64, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int32_t>("label", i % 2);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

// The form in which `sluice convert` stores JPEGs.
inline JpegOptions StoredForm() {
  JpegOptions form;
  form.restart_rows = 1;
  return form;
}

}  // namespace sluice::test
