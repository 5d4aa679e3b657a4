// Makes AVIF, HEIF, JPEG XL and JPEG 2000 files without loss, with the libraries' encoders. The
// functions throw std::runtime_error if an encoder fails.
#pragma once

#include <string>

#include "tests/pictures.h"

namespace sluice::test {

using PictureFile = std::vector<std::byte>;

#ifdef SLUICE_HAS_AVIF
struct AvifForm {
  std::uint32_t depth = 8;  // bits per value in the file; the picture's values are scaled to it
  bool grey = false;
  int angle = -1;   // the rotation, in quarter turns anti-clockwise; -1: none
  int mirror = -1;  // 0: top and bottom change places; 1: left and right; -1: none
  std::string exif = {};
  std::uint32_t tiles = 1;  // copies of the picture side by side; if several, at least 64x64 each
};

PictureFile AvifWith(const Picture& picture, const AvifForm& form);
PictureFile Avif(const Picture& picture);
#endif

#ifdef SLUICE_HAS_HEIF
// `orientation` is an Exif value. Empty if libheif has no HEVC encoder on this machine.
PictureFile HeifWith(const Picture& picture, int orientation);
PictureFile Heif(const Picture& picture);
#endif

#ifdef SLUICE_HAS_JXL
struct JxlForm {
  unsigned orientation = 1;
  bool linear = false;       // linear sRGB instead of sRGB
  bool boxes = false;        // wraps the codestream in a container of boxes
  std::uint32_t depths = 0;  // how many additional depth channels
};

// Values of 16 bits are native-endian.
PictureFile JxlWith(const void* pixels, std::uint32_t width, std::uint32_t height,
                    std::uint32_t channels, unsigned bits, const JxlForm& form = {});
PictureFile Jxl(const Picture& picture);
#endif

#ifdef SLUICE_HAS_JP2
// Encodes with `bits` bits per value (8-bit values are scaled only if it is 16). `bare`: writes a
// codestream instead of a JP2 file. `chroma_step`: pixels per chroma sample, along each axis.
// `tile`: the side of tiles; 0: a single tile.
PictureFile Jp2With(const Picture& picture, unsigned bits, bool bare, std::uint32_t chroma_step,
                    int tile = 0);
PictureFile Jp2(const Picture& picture);
#endif

}  // namespace sluice::test
