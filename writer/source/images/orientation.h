// How a picture's stored rows and columns map to the upright picture (Exif 2.3, tag 0x0112).
#pragma once

#include "format/disk/bytes.h"

namespace sluice {

// The upright picture O comes from the stored one, S (w x h), by O(x, y) = S(a, b) with (a, b) =
// (x, y), or (y, x) if transposed; then a = w - 1 - a if mirrored in x, b = h - 1 - b if in y.
struct Orientation {
  bool transposed = false;
  bool mirror_x = false;
  bool mirror_y = false;

  bool identity() const noexcept { return !transposed && !mirror_x && !mirror_y; }
  friend bool operator==(const Orientation&, const Orientation&) = default;
};

// The orientation of the tag's value; values other than 2..8 give none.
constexpr Orientation OrientationOf(unsigned value) noexcept {
  switch (value) {
    case 2: return {false, true, false};
    case 3: return {false, true, true};
    case 4: return {false, false, true};
    case 5: return {true, false, false};
    case 6: return {true, false, true};
    case 7: return {true, true, true};
    case 8: return {true, true, false};
    default: return {};
  }
}

// The orientation that a file's metadata gives: that of Exif data, with or without "Exif\0\0"
// before them; or else, if the tag is missing there or out of range, that of an XMP packet
// (tiff:Orientation). Either may be empty or broken.
Orientation ReadOrientation(Bytes exif, Bytes xmp);

}  // namespace sluice
