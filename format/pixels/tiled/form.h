// The bytes of a tiled image (format/FORMAT.md, "Tiled"), for its encoder and its decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sluice/image.h>

namespace sluice::tiled {

inline constexpr std::uint8_t kForm = 1;
inline constexpr std::size_t kHeaderBytes = 20;
inline constexpr std::size_t kEntryBytes = 8;       // of the directory: a tile's end and checksum
inline constexpr std::size_t kTileHeaderBytes = 4;  // predictor, layout, base
inline constexpr std::size_t kEndBytes = 32;        // zeros after the last tile
// Zeros at the end let a decoder read the last groups of eight differences by whole words.
static_assert(kEndBytes >= 8 * sizeof(std::uint32_t));

inline constexpr std::uint32_t kMinTileSide = 16, kMaxTileSide = 1024;
inline constexpr std::uint32_t kMaxTilePixels = 65'536;  // bounds a decoder's memory for a tile
inline constexpr std::uint32_t kMaxTableValues = 65'536;

enum Predictor : std::uint8_t { kNone, kLeft, kUp, kGradient, kPredictors };
enum Layout : std::uint8_t { kPlain, kByteRuns, kGroups, kLayouts };

struct Header {
  std::uint32_t checksum = 0;  // of all that follows, up to the end of the directory
  std::uint8_t form = kForm;
  std::uint8_t code_bytes = 0;  // 1 or 2: tiles hold indices of the table; 0: values
  std::uint16_t tile_width = 0, tile_height = 0;
  std::uint16_t zero = 0;
  std::uint32_t table_values = 0;
  std::uint32_t table_bytes = 0;  // of the zstd frame after the header
};
static_assert(sizeof(Header) == kHeaderBytes);

struct Entry {
  std::uint32_t end = 0;  // of the tile, from the payload's first byte
  std::uint32_t checksum = 0;
};
static_assert(sizeof(Entry) == kEntryBytes);

// How an image is cut into tiles.
struct Grid {
  Grid(const ImagePayload& image, std::uint32_t width, std::uint32_t height) noexcept
      : tile_width(width),
        tile_height(height),
        across((image.width + width - 1) / width),
        down((image.height + height - 1) / height) {}
  std::uint32_t tile_width, tile_height;
  std::uint32_t across, down;
};

constexpr std::size_t GroupsOf(std::size_t values) noexcept {
  return (values + 7) / 8;
}

constexpr bool IsFloat(PixelType type) noexcept {
  return type == PixelType::kFloat16 || type == PixelType::kFloat32;
}

// Unsigned numbers of a value's bits, in the order of the values. A table lists these numbers by
// their differences. Tiles without a table hold them for floats, so that close values have close
// numbers; for integers, tiles hold the bits as they are, since differences are modulo 2^bits.
template <class U>
constexpr U InOrder(PixelType type, U bits) noexcept {
  constexpr U kTop = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  switch (type) {
    case PixelType::kInt16: return static_cast<U>(bits ^ kTop);
    case PixelType::kFloat16:
    case PixelType::kFloat32: return static_cast<U>((bits & kTop) != 0 ? ~bits : bits | kTop);
    case PixelType::kUint8:
    case PixelType::kUint16: break;
  }
  return bits;
}
template <class U>
constexpr U FromOrder(PixelType type, U number) noexcept {
  constexpr U kTop = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  switch (type) {
    case PixelType::kInt16: return static_cast<U>(number ^ kTop);
    case PixelType::kFloat16:
    case PixelType::kFloat32:
      return static_cast<U>((number & kTop) != 0 ? number & static_cast<U>(~kTop) : ~number);
    case PixelType::kUint8:
    case PixelType::kUint16: break;
  }
  return number;
}

// A difference d, modulo 2^bits, as 2d, or as -2d - 1 if it is negative.
template <class U>
constexpr U Zigzag(U d) noexcept {
  return static_cast<U>(static_cast<U>(d << 1) ^ static_cast<U>(0U - (d >> (8 * sizeof(U) - 1))));
}

}  // namespace sluice::tiled
