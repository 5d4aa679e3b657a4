// The first picture of a TIFF file as a source of pixels: every kind that libtiff turns into 8-bit
// colours (palettes, YCbCr, Lab and more), and by tiff_samples.h those that it does not, or not
// exactly: grey, RGB and CMYK of 16 bits and more, floating-point numbers, and CMYK with a profile.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "writer/source/pixel_source.h"

struct tiff;

namespace sluice {

class TiffSource : public PixelSource {
 public:
  explicit TiffSource(Bytes file);

  Bytes Profile() override;
  ProfileColors colors() const noexcept override;
  Picture Decode(const ColorRules& rules) override;

 private:
  struct Stream {
    Bytes file;
    std::uint64_t at = 0;
    // libtiff's first complaint; cleared when the pixels begin. It is written inside of libtiff,
    // and nothing may be thrown through that.
    std::array<char, 200> trouble{};
  };

  struct RgbaImage;

  void Open();
  const char* HowCutShort() const;
  Picture DecodeRgba(const ColorRules& rules, bool cut_short);
  bool IsOpaque(const RgbaImage& rgba) const;
  void CheckPieces() const;
  [[noreturn]] void ThrowBroken() const;

  Stream stream_;
  std::unique_ptr<tiff, void (*)(tiff*)> tiff_;
};

}  // namespace sluice
