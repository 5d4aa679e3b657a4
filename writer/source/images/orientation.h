// How the stored rows and columns of a picture map to the upright picture (Exif 2.3, tag 0x0112).
#pragma once

#include "format/disk/bytes.h"

namespace sluice {

// Computes the upright picture O from the stored picture S of w x h pixels: O(x, y) = S(a, b).
// Begin with (a, b) = (y, x) if transposed, else (x, y); then replace a by w - 1 - a if mirror_x,
// and b by h - 1 - b if mirror_y.
struct Orientation {
  bool transposed = false;
  bool mirror_x = false;
  bool mirror_y = false;

  bool identity() const noexcept { return !transposed && !mirror_x && !mirror_y; }
  friend bool operator==(const Orientation&, const Orientation&) = default;
};

// The orientation for a value of the tag; none (identity) for values outside 2..8.
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

// The orientation that a file's metadata gives: the tag in `exif` (with or without "Exif\0\0"
// before the data) or, if that is missing or out of range, tiff:Orientation in `xmp`. Either may be
// empty or broken.
Orientation ReadOrientation(Bytes exif, Bytes xmp);

}  // namespace sluice
