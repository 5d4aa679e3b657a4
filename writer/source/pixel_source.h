// An image file that is decoded as a whole: of every kind but JPEG, which can be had at a reduced
// size and has a class of its own.
//
// Each kind but PNG and BMP needs a library that a build may do without.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "format/disk/bytes.h"
#include "writer/source/color_rows.h"
#include "writer/source/cut_short.h"
#include "writer/source/orientation.h"
#include "writer/source/picture.h"
#include "writer/source/sniff.h"

namespace sluice {

// Has read the file's header when it is made, and taken no memory for pixels. One picture, one
// thread; the file outlives it. Everything throws Error whose sentence() says what is wrong with
// the file, without its name.
class PixelSource {
 public:
  virtual ~PixelSource() = default;
  PixelSource(const PixelSource&) = delete;
  PixelSource& operator=(const PixelSource&) = delete;

  std::uint32_t width() const noexcept { return width_; }
  std::uint32_t height() const noexcept { return height_; }
  // Whether the file has nothing but grey values.
  bool grey() const noexcept { return grey_; }

  // Whether it embeds an ICC profile that its values are to be understood by.
  bool has_profile() const noexcept { return has_profile_; }
  // That profile; empty if it is broken, or was not wanted when this was made.
  virtual Bytes Profile() { return {}; }
  // To be called before Decode(): a picture that ends early is then taken as far as it goes, and is
  // no longer a CutShort. What is missing is black, or transparent where it can be.
  void TakeCutShort() noexcept { takes_cut_short_ = true; }
  // Known after Decode(): what is missing; empty: nothing.
  const std::string& cut_short() const noexcept { return cut_short_; }

  // The pixels as they are stored, of PictureChannels() channels. Can be called once.
  virtual Picture Decode(const ColorRules& rules) = 0;
  // Known after Decode().
  Orientation orientation() const noexcept { return orientation_; }

 protected:
  PixelSource() = default;

  // Throws CutShort, unless such pictures are taken.
  void EndsEarly(const char* what, const std::string& how) {
    if (!takes_cut_short_) throw CutShort(what, how);
    cut_short_ = how;
  }
  // Room for the pixels of a picture with those channels, all zero.
  Picture MakePicture(std::uint32_t channels) const {
    Picture picture{width_, height_, channels, {}};
    picture.pixels.resize(std::size_t{width_} * height_ * channels);
    return picture;
  }

  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  bool grey_ = false;
  bool has_profile_ = false;
  Orientation orientation_;

 private:
  bool takes_cut_short_ = false;
  std::string cut_short_;
};

// Of a kind that this build decodes. Throws Error(kUnsupported) for others. `with_profile`: whether
// Profile() will be asked for, which can take time and memory.
std::unique_ptr<PixelSource> OpenPixels(ImageKind kind, Bytes file, bool with_profile = false);

// Why a file of a kind is left out whatever it holds; empty where it is converted.
std::string WhyNotConverted(const Sniffed& sniffed);

// For messages: "JPEG, PNG and BMP".
std::string ConvertedKinds();

// Names and versions of the libraries that decode those kinds, beside those of every build.
std::map<std::string, std::string> DecoderVersions(const std::set<ImageKind>& kinds);

}  // namespace sluice
