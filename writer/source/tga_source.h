// A Truevision TGA file as a source of pixels: colours of 15 to 32 bits, grey, palettes; plain or
// in run lengths.
#pragma once

#include <array>
#include <vector>

#include "writer/source/pixel_source.h"

namespace sluice {

class TgaSource : public PixelSource {
 public:
  explicit TgaSource(Bytes file);

  Picture Decode(const ColorRules& rules) override;

 private:
  using Rgba = std::array<std::uint8_t, 4>;

  void ReadPalette(std::size_t size, std::size_t bits);
  // A pixel of that many bits, as it is stored.
  Rgba ColourOf(const std::uint8_t* pixel, unsigned bits) const noexcept;
  Rgba PixelAt(std::size_t at) const noexcept;
  // The rows one after another, as they are stored; false if the file ends before they do.
  template <class Store>
  bool ForEachRow(Store store) const;
  // Whether opacity has a meaning: in files whose every pixel says 0, it has none.
  bool HasOpacity() const;

  Bytes file_;
  unsigned depth_ = 0;         // bits of a pixel
  unsigned opacity_bits_ = 0;  // of a pixel or a palette's colour
  bool runs_ = false;
  bool top_down_ = false;
  bool right_to_left_ = false;
  bool indexed_ = false;
  std::size_t first_index_ = 0;
  std::vector<Rgba> palette_;
  std::size_t pixels_at_ = 0;
};

}  // namespace sluice
