// The values of TIFFs that libtiff's own conversion to 8 bits refuses, truncates or ignores the
// profile of: grey and RGB of more than 8 bits a value, whole or floating-point, and CMYK.
#pragma once

#include <cstdint>
#include <vector>

struct tiff;

namespace sluice {

struct TiffSamples {
  // Four a pixel: grey three times or RGB, then opacity; or four inks. From 0 to 65535.
  std::vector<std::uint16_t> values;
  bool opaque = true;
  bool deep = false;  // the file's values have more than 8 bits
  bool premultiplied = false;
  bool whole = false;  // every piece was read; the others are zero
};

bool IsForSamples(tiff* file) noexcept;
// Whether the values are cyan, magenta, yellow and black.
bool HasInks(tiff* file) noexcept;

// Reads a file that IsForSamples(). Its size and pieces must have been checked. Floating-point
// values go from 0 to 1. Throws Error(kUnsupported): signed values; floating-point ones beyond
// that.
TiffSamples ReadTiffSamples(tiff* file);

}  // namespace sluice
