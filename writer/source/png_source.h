// A PNG file as a source of pixels: every colour type and bit depth, interlaced or not.
//
// 16-bit values are rounded to 8 bits. What is transparent is laid over white, as a viewer's page
// would show it. Gamma and colour profiles are ignored. Of an animation the default image is taken.
#pragma once

#include "format/disk/bytes.h"
#include "writer/source/orientation.h"
#include "writer/source/picture.h"
#include "writer/source/png_file.h"

namespace sluice {

// Reads the header when it is made. One picture, one thread. Everything throws Error whose
// sentence() says what is wrong with the file, without its name.
class PngSource {
 public:
  explicit PngSource(Bytes file);  // `file` outlives the source

  std::uint32_t width() const noexcept { return width_; }
  std::uint32_t height() const noexcept { return height_; }
  Orientation orientation() const noexcept { return orientation_; }

  // The pixels as they are stored. `channels` 1 gives grey; 3 gives RGB, but grey for a grey file.
  // Can be called once; orientation() is known after it.
  Picture Decode(std::uint32_t channels);

 private:
  void DecodeRows(int format, std::uint32_t values, Picture& picture);
  void DecodeInterlaced(int format, std::uint32_t values, Picture& picture);
  void ReadTrailer();

  PngFile png_;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  std::uint8_t bit_depth_ = 0;
  std::uint8_t color_type_ = 0;
  bool interlaced_ = false;
  Orientation orientation_;
};

}  // namespace sluice
