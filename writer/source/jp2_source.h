// A JPEG 2000 picture, as a JP2 file or a bare codestream, as a source of pixels.
#pragma once

#include <array>
#include <memory>

#include "writer/source/jp2_codestream.h"
#include "writer/source/pixel_source.h"

struct opj_image;

namespace sluice {

class Jp2Source : public PixelSource {
 public:
  explicit Jp2Source(Bytes file);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  struct Stream {
    Bytes file;
    std::size_t at = 0;
    // openjpeg's first error. Its warnings do not count: files that it decodes well have some. It
    // is written inside of openjpeg, and nothing may be thrown through that.
    std::array<char, 200> trouble{};
    bool ends_early = false;  // it asked for more than there is
  };

  void CheckComponents() const;
  // The value of a component at a place of the picture, from 0 to 65535.
  std::uint16_t ValueAt(std::size_t component, std::uint32_t x, std::uint32_t y) const noexcept;
  void ReadRow(std::uint32_t y, std::uint16_t* rgba) const noexcept;
  [[noreturn]] void ThrowBroken() const;

  Stream stream_;
  std::unique_ptr<void*, void (*)(void**)> opened_;  // openjpeg's stream
  std::unique_ptr<void*, void (*)(void**)> codec_;
  std::unique_ptr<opj_image, void (*)(opj_image*)> image_;
  jp2::Tiles tiles_;
  bool luma_ = false;        // components are YCbCr
  std::size_t opacity_ = 0;  // its component; 0: there is none
  bool premultiplied_ = false;
};

}  // namespace sluice
