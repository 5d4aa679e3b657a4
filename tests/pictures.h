// Pictures for tests: smooth colour with detail, and JPEG files of them made by libjpeg directly.
#pragma once

#include <cstdint>
#include <cstdio>  // jpeglib.h needs it
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace sluice::test {

struct Picture {
  std::uint32_t width = 0, height = 0, channels = 3;
  std::vector<std::uint8_t> pixels;  // interleaved
  const std::uint8_t* at(std::uint32_t x, std::uint32_t y) const {
    return &pixels[(std::size_t{y} * width + x) * channels];
  }
};

// Gradients that differ by channel, a checkerboard and some grain. Each seed gives a different
// picture.
Picture MakePicture(std::uint32_t width, std::uint32_t height, std::uint32_t channels = 3,
                    std::uint64_t seed = 1);

struct JpegOptions {
  int quality = 95;
  bool progressive = false;
  bool subsample = true;  // 4:2:0
  int restart_rows = 0;
  unsigned restart_interval = 0;     // in MCUs; instead of restart_rows
  int luma_h = 0, luma_v = 0;        // sampling factors; 0: by `subsample`
  bool optimise = false;             // Huffman tables made for this picture
  J_COLOR_SPACE in = JCS_RGB;        // colour space of a three-channel picture's pixels
  J_COLOR_SPACE stored = JCS_YCbCr;  // and of its file
};

using JpegSettings = std::function<void(jpeg_compress_struct&)>;

// A JPEG of quality 95 with libjpeg's defaults, which `set` may change. `in`: the colour space of a
// three-channel picture's pixels.
std::vector<std::byte> EncodeJpegWith(const Picture& picture, const JpegSettings& set,
                                      J_COLOR_SPACE in = JCS_RGB);

std::vector<std::byte> MakeJpeg(const Picture& picture, const JpegOptions& options = {});

// A whole decode by libjpeg's defaults (accurate DCT, fancy upsampling), RGB or grey.
Picture DecodeJpeg(const std::vector<std::byte>& file, std::uint32_t channels = 3);

// The largest difference between two lists of samples; 256 if their lengths differ.
int LargestDifference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

// The largest difference from libjpeg that a picture decoded whole may have if its chroma is
// subsampled: both decoders enlarge chroma with a triangle filter, but round at different steps.
constexpr int kChromaRounding = 2;

}  // namespace sluice::test
