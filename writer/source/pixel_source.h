// An image file that is decoded as a whole. For every kind but JPEG, which can be decoded at a
// reduced size and has a class of its own.
// image_kinds.h opens them.
#pragma once

#include <string>

#include "format/disk/bytes.h"
#include "writer/source/color_profile.h"
#include "writer/source/color_rows.h"
#include "writer/source/cut_short.h"
#include "writer/source/orientation.h"
#include "writer/source/picture.h"

namespace sluice {

// The constructor reads the file's header and allocates no memory for pixels. One picture, one
// thread; the file must outlive it. Every function throws an Error whose sentence() says what is
// wrong with the file, without its name.
class PixelSource {
 public:
  virtual ~PixelSource() = default;
  PixelSource(const PixelSource&) = delete;
  PixelSource& operator=(const PixelSource&) = delete;

  std::uint32_t width() const noexcept { return width_; }
  std::uint32_t height() const noexcept { return height_; }
  // Whether the file has only grey values.
  bool grey() const noexcept { return grey_; }
  // The values that an embedded profile describes.
  virtual ProfileColors colors() const noexcept {
    return grey_ ? ProfileColors::kGrey : ProfileColors::kRgb;
  }

  // Whether the file embeds an ICC profile that gives its values their meaning.
  bool has_profile() const noexcept { return has_profile_; }
  // That profile; empty if it is broken, or was not asked for at construction.
  virtual Bytes Profile() { return {}; }
  // Call it before Decode(): a picture that ends early is then taken as far as it goes, and is no
  // longer a CutShort error. Missing pixels are black, or transparent if the kind allows it.
  void TakeCutShort() noexcept { takes_cut_short_ = true; }
  // Valid after Decode(): what is missing; empty if nothing is.
  const std::string& cut_short() const noexcept { return cut_short_; }

  // The pixels as they are stored, with PictureChannels() channels. Call it once.
  virtual Picture Decode(const ColorRules& rules) = 0;
  // Valid after Decode().
  Orientation orientation() const noexcept { return orientation_; }
  // Valid after Decode(): whether the file's values have more than 8 bits.
  bool deep() const noexcept { return deep_; }

 protected:
  PixelSource() = default;

  // Throws CutShort, unless pictures that end early are taken.
  void EndsEarly(const char* what, const std::string& how) {
    if (!takes_cut_short_) throw CutShort(what, how);
    cut_short_ = how;
  }
  // A picture with that many channels, all zero.
  Picture MakePicture(std::uint32_t channels) const {
    Picture picture{width_, height_, channels, {}};
    picture.pixels.resize(std::size_t{width_} * height_ * channels);
    return picture;
  }

  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  bool grey_ = false;
  bool deep_ = false;
  bool has_profile_ = false;
  Orientation orientation_;

 private:
  bool takes_cut_short_ = false;
  std::string cut_short_;
};

}  // namespace sluice
