// From payloads to pixels: the seam behind which every codec's decoding lies.
//
// A PayloadDecoder turns one payload into one image of a batch in a single pass that touches only
// what the region needs. Each worker thread owns one; it keeps its memory from image to image.
// Nothing here throws on bad payloads: a status says what is wrong.
#pragma once

#include <memory>

#include <sluice/image.h>

#include "format/disk/block.h"

namespace sluice {

// What part of a picture goes where, along one axis. The picture's interval [start, start +
// length), in pixels of the full-size image, is resampled onto the `out` target pixels from `at`
// on; what lies outside of those is zero. Only source pixels in [bound, bound + bound_length) are
// used, and the interval lies inside of them.
struct Span {
  double start = 0;
  double length = 0;
  std::uint32_t bound = 0;
  std::uint32_t bound_length = 0;
  std::uint32_t out = 0;
  std::uint32_t at = 0;
  std::uint32_t target = 0;  // extent of the target
  friend bool operator==(const Span&, const Span&) = default;
};

struct Region {
  Span x, y;
  bool flip = false;  // mirrors the target left to right, last of all
  Filter filter = Filter::kTriangle;

  static Region Whole(std::uint32_t width, std::uint32_t height) noexcept {
    return {{0, double(width), 0, width, width, 0, width},
            {0, double(height), 0, height, height, 0, height},
            false,
            Filter::kTriangle};
  }
  friend bool operator==(const Region&, const Region&) = default;
};

enum class PixelOrder { kInterleaved, kPlanar };  // HWC, CHW

struct PixelTarget {
  std::uint8_t* data = nullptr;  // target_width x target_height x channels values, packed
  std::uint32_t channels = 0;    // 1 or 3: converted to that; or the payload's own count
  PixelOrder order = PixelOrder::kInterleaved;
};

// What a decoder gives up for speed. The default is a reader's; a converter, whose pictures are
// made once and looked at many times, asks for more.
struct DecodePolicy {
  // How many samples a transform at a reduced size leaves for each output pixel and axis, at the
  // least: with 1 the transform is nearly the whole filter where it fits, with 2 the triangle
  // decides.
  std::uint32_t samples_per_pixel = 1;
  // Also reads what a region leaves out, so that damage anywhere in a file is found.
  bool whole_file = false;
};

class PayloadDecoder {
 public:
  explicit PayloadDecoder(DecodePolicy policy = {});
  ~PayloadDecoder();
  PayloadDecoder(PayloadDecoder&&) noexcept;
  PayloadDecoder& operator=(PayloadDecoder&&) noexcept;

  // Null, or why the payload cannot be decoded: a sentence that lives until the next call. 16-bit
  // images are taken only whole and unscaled; their target holds two bytes a value.
  Defect Decode(const ImagePayload& payload, const Region& region, const PixelTarget& target);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Size and channels (1 or 3; CMYK counts as 3) of a JPEG file, from its header alone.
struct JpegInfo {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint8_t channels = 0;
};
// False, with a sentence in `why`, for anything that is no JPEG or has no usable size.
bool ReadJpegInfo(Bytes file, JpegInfo& info, std::string& why);

}  // namespace sluice
