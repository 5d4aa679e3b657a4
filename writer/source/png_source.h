// A PNG file as a source of pixels: every colour type and bit depth, interlaced or not.
//
// 16-bit values are rounded to 8 bits. Without a profile, gamma and chromaticities are ignored. Of
// an animation, the default image is taken.
#pragma once

#include <optional>
#include <string>

#include "writer/source/pixel_source.h"
#include "writer/source/png_file.h"

namespace sluice {

class PngSource : public PixelSource {
 public:
  PngSource(Bytes file, bool with_profile);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  // The format in which spng is asked for a row.
  struct RowFormat {
    int format = 0;
    std::uint32_t pixel_bytes = 0;
  };
  RowFormat FormatFor(bool opaque) const;
  // True at the end of a file that ends early and is taken all the same. Throws for every other
  // result than SPNG_OK.
  bool Ended(int result);
  void DecodeRows(RowFormat format, const ColorRules& rules, Picture& picture);
  void DecodeInterlaced(RowFormat format, const ColorRules& rules, Picture& picture);
  void FindOrientation();

  PngFile png_;
  std::optional<std::string> xmp_;
  std::uint8_t bit_depth_ = 0;
  std::uint8_t color_type_ = 0;
  bool interlaced_ = false;
};

}  // namespace sluice
