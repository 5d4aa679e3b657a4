// Files of AVIF, HEIF, JPEG XL and JPEG 2000, made without loss by the libraries' encoders. The
// functions throw std::runtime_error if an encoder fails.
#pragma once

#include <string>

#include "tests/pictures.h"

namespace sluice::test {

using PictureFile = std::vector<std::byte>;

#ifdef SLUICE_HAS_AVIF
struct AvifForm {
  std::uint32_t depth = 8;  // values of 8 bits are spread over its range
  bool grey = false;
  int angle = -1;   // its rotation, in quarter turns anti-clockwise
  int mirror = -1;  // 0: top and bottom change places, 1: left and right
  std::string exif = {};
  std::uint32_t tiles = 1;  // that many copies of the picture side by side, of at least 64x64
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
  bool boxes = false;        // in a file of boxes around the codestream
  std::uint32_t depths = 0;  // additional channels of depth
};

// Values of 16 bits are native-endian.
PictureFile JxlWith(const void* pixels, std::uint32_t width, std::uint32_t height,
                    std::uint32_t channels, unsigned bits, const JxlForm& form = {});
PictureFile Jxl(const Picture& picture);
#endif

#ifdef SLUICE_HAS_JP2
// Encodes with `bits` bits per value. `bare`: a codestream without a file around it. `tile`: the
// side of tiles.
PictureFile Jp2With(const Picture& picture, unsigned bits, bool bare, std::uint32_t chroma_step,
                    int tile = 0);
PictureFile Jp2(const Picture& picture);
#endif

}  // namespace sluice::test
