// A BMP file as a source of pixels: headers of all versions, 1 to 32 bits a pixel, palettes, run
// lengths and bit masks. Colour profiles are ignored.
#pragma once

#include <array>
#include <vector>

#include "writer/source/pixel_source.h"

namespace sluice {

class BmpSource : public PixelSource {
 public:
  explicit BmpSource(Bytes file);

  Picture Decode(const ColorRules& rules) override;

 private:
  // The position of one of a pixel's values in its bits.
  struct BitField {
    std::uint32_t mask = 0;
    unsigned shift = 0;

    BitField() = default;
    explicit BitField(std::uint32_t bits);
    std::uint8_t Of(std::uint32_t pixel) const noexcept;
  };
  enum Coding : std::uint32_t { kPlain, kRunLength8, kRunLength4, kBitFields, kAlphaBitFields = 6 };

  void ReadHeader(std::uint32_t header_bytes);
  void CheckCoding(std::uint32_t header_bytes) const;
  void ReadBitFields(std::uint32_t header_bytes);
  // The number of colours in the palette, as the header says.
  std::size_t Colours() const noexcept;
  // Corrects an offset of the pixels that points into the palette.
  void PlacePixels(std::size_t palette_at, std::size_t palette_end);
  void ReadPalette(std::size_t offset, std::size_t entry_bytes);
  bool HasRuns() const noexcept;
  std::uint64_t PixelBytes() const noexcept;
  void CompletePixels();
  // The row's bytes; rows are counted from the top.
  const std::uint8_t* RowAt(std::uint32_t y) const noexcept;
  // Whether the opacity has a meaning: in files whose every pixel says 0, it has none.
  bool HasOpacity() const noexcept;
  std::vector<std::uint8_t> DecodeRuns();
  void DecodeRow(std::uint32_t y, std::uint8_t* rgba) const noexcept;

  Bytes file_;
  std::vector<std::byte> completed_;  // the pixels, if some are missing
  std::uint32_t bits_ = 0;            // of a pixel
  std::uint32_t coding_ = kPlain;
  bool top_down_ = false;
  std::uint32_t palette_used_ = 0;
  std::uint32_t image_bytes_ = 0;  // of the pixels; 0: not said
  std::size_t pixels_at_ = 0;
  std::array<BitField, 4> fields_;  // red, green, blue, opacity
  std::array<std::array<std::uint8_t, 3>, 256> palette_{};
};

}  // namespace sluice
