// Images as they are stored (a payload) and as they are worked with (pixels).
//
// For a new Codec, the compiler names the switches to extend. It does not name the other places to
// change. Most of them are in these files, where "kPacked|\bpacked" shows how, among others:
//   format/FORMAT.md
//   writer/include/sluice/convert.h       its ImageCodec; from here on only if users can choose it
//   writer/include/sluice/convert_option_list.h
//   writer/convert/image_encoder.cpp
//   writer/encode/jpeg.cpp
//   writer/edit/transcode.cpp
//   writer/dataset_writer.cpp
//   writer/include/sluice/dataset_writer.h
//   tools/export.cpp
//   tools/convert.cpp
//   tools/transcode.cpp                   --help
//   reader/python/binding/dataset.cpp
//   reader/python/binding/writer.cpp
//   reader/python/sluice/_writing.py      Writer's words
//   bench/advise/trial.cpp
//   bench/parts/decode.cpp
//   bench/compare/measure.cpp
//   bench/epoch/experiments.cpp
//   writer/README.md
//   reader/README.md                      this and the next two: whether a device decodes it
//   reader/GPU.md
//   reader/include/sluice/loader_options.h
//   reader/CONCEPTS.md
//   reader/python/README.md
//   tests/pixels/packed_test.cpp
//   tests/fuzz/packed_target.cpp
//   tests/tools/transcode_test.cpp
//   tests/tools/usage_test.cpp
//   tests/writer/dataset_writer_test.cpp
//   tests/python/test_values.py           the words of a refusal
//
// Code that compares with kRaw, kZstd or kJpeg treats all other codecs alike. Look at each
// comparison (`[!=]= (Image)?Codec::k`) in format/, reader/, writer/ and tools/, first in
// writer/convert/options.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

// How a payload is stored. The numbers are on disk: see format/FORMAT.md, "Codecs". (A codec of
// images that a user can choose, by --image or ImageCodec, is also called a form.)
enum class Codec : std::uint16_t {
  kAbsent = 0,  // the sample has no value in this field
  kRaw = 1,     // the bytes themselves; for images, rows of interleaved pixels without padding
  kJpeg = 2,    // one complete JPEG file
  kZstd = 3,    // one zstd frame of what kRaw would hold
  kPacked = 4,  // a JPEG's coefficients, laid out for fast decoding
  kTiled = 5,   // lossless tiles of one channel, for images that no JPEG can hold
};

std::string_view NameOf(Codec codec) noexcept;  // "absent", "raw", "jpeg", ...

// The type of a stored image's values. The numbers are on disk. Only the first is ever in a JPEG.
enum class PixelType : std::uint8_t {
  kUint8 = 0,    // 0 to 255
  kUint16 = 1,   // 0 to 65535
  kInt16 = 2,    // -32768 to 32767
  kFloat16 = 3,  // IEEE 754 binary16
  kFloat32 = 4,  // IEEE 754 binary32
};

std::string_view NameOf(PixelType type) noexcept;  // "uint8" ... "float32"; empty for other numbers

// Bytes of one value.
constexpr std::size_t SizeOf(PixelType type) noexcept {
  switch (type) {
    case PixelType::kUint8: return 1;
    case PixelType::kUint16:
    case PixelType::kInt16:
    case PixelType::kFloat16: return 2;
    case PixelType::kFloat32: break;
  }
  return 4;
}

// Whether an image is wide: not an 8-bit picture of 1 to 4 channels. No JPEG holds a wide image,
// and no step mixes its channels.
constexpr bool IsWide(PixelType type, std::size_t channels) noexcept {
  return type != PixelType::kUint8 || channels > 4;
}

// Whether a field of images of type `field` (ImageFigures::pixel_type) may also have an image of
// type `image`. All images of a field have one type, except that 8-bit images may stand among
// 16-bit ones.
constexpr bool Admits(PixelType field, PixelType image) noexcept {
  return image == field || (image == PixelType::kUint8 && field == PixelType::kUint16);
}

// How pixels are computed from others when an image is resized. Both filters are anti-aliased: they
// compute a new pixel from all source pixels that it covers.
enum class Filter : std::uint8_t {
  // Triangle filter: a source pixel's weight falls linearly with its distance from the new pixel,
  // and reaches 0 at max(1, scale) source pixels, where scale is the number of source pixels for
  // each new pixel. The same as Pillow's BILINEAR, and torchvision's and PyTorch's antialias=True.
  kTriangle = 0,
  // Area filter: the mean of the area that the new pixel covers. The same as Pillow's BOX and
  // OpenCV's INTER_AREA. Along an axis on which an image is enlarged: as kTriangle.
  kArea = 1,
};

// One stored image. `bytes` points into the mapped shard, or to wherever else the payload lies. The
// payload stays valid as long as its shard or sample lives.
struct ImagePayload {
  Codec codec = Codec::kAbsent;
  PixelType pixel_type = PixelType::kUint8;
  std::uint8_t channels = 0;         // 1 (grey) or 3 (RGB); raw, zstd and tiled up to 64
  std::uint32_t width = 0;           // pixels, 1..65535
  std::uint32_t height = 0;          // pixels, 1..65535
  std::span<const std::byte> bytes;  // as `codec` stores them
};

// The figures of an image field over many samples.
struct ImageFigures {
  std::uint64_t present = 0;            // samples that have a value in the field
  std::uint64_t payload_bytes = 0;      // size of all their payloads together
  std::uint64_t max_payload_bytes = 0;  // size of the largest payload
  std::uint32_t min_width = 0, max_width = 0, min_height = 0, max_height = 0;  // pixels
  std::uint8_t min_channels = 0, max_channels = 0;  // channels of an image
  PixelType pixel_type = PixelType::kUint8;         // uint16 if there are uint8 and uint16 images
  // Whether all images have the same size and the same number of channels.
  bool uniform() const noexcept {
    return min_width == max_width && min_height == max_height && min_channels == max_channels;
  }
  // Adds the figures of other samples.
  void Add(const ImageFigures& other) noexcept;
  friend bool operator==(const ImageFigures&, const ImageFigures&) = default;
};

// Returns a payload as a JPEG file. A payload of codec kJpeg already is one. The coefficients of a
// kPacked payload become a baseline file without metadata; if a conversion wrote the payload, this
// file equals, byte for byte, the JPEG that was packed. Throws Error(kUnsupported) for any other
// codec and Error(kCorrupt) for a broken payload.
std::vector<std::byte> JpegFileOf(const ImagePayload& payload);

// Decoded pixels: height x width x channels values, without padding between rows. Values of several
// bytes are native-endian.
struct Image {
  std::uint32_t width = 0;    // pixels
  std::uint32_t height = 0;   // pixels
  std::uint8_t channels = 0;  // values in a pixel
  PixelType pixel_type = PixelType::kUint8;
  std::vector<std::uint8_t> pixels;  // the bytes of all values, row by row
};

}  // namespace sluice
