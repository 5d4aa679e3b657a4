// From payloads to pixels: the seam behind which every codec's decoding lies.
//
// A PayloadDecoder turns one payload into one image of a batch in a single pass that touches only
// what the region needs. Each worker thread owns one; it keeps its memory from image to image.
// Nothing here throws on bad payloads: a status says what is wrong.
#pragma once

#include <array>
#include <memory>

#include <sluice/image.h>

#include "format/disk/block.h"

namespace sluice {

// What part of a picture goes where, along one axis. The picture's interval [start, start +
// length), in pixels of the full-size image, is resampled onto the `out` target pixels from `at`
// on; what lies outside of those is border. Only source pixels in [bound, bound + bound_length) are
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

// The spans are those of the picture's own axes; what they make is mirrored and turned afterwards.
struct Region {
  Span x, y;
  bool flip = false;       // mirrors left to right
  bool flip_y = false;     // and top to bottom;
  bool transpose = false;  // then rows become columns
  // What the border shows that the spans leave: the picture mirrored at its outermost pixels, or a
  // colour by channel.
  bool reflect = false;
  std::array<std::uint8_t, 3> fill = {0, 0, 0};
  Filter filter = Filter::kTriangle;

  // Of the target.
  std::uint32_t width() const noexcept { return transpose ? y.target : x.target; }
  std::uint32_t height() const noexcept { return transpose ? x.target : y.target; }
  bool bordered() const noexcept { return x.out != x.target || y.out != y.target; }

  // The same as the picture lies; and what is left to do then, of a picture of that size.
  Region Upright() const noexcept {
    Region region = *this;
    region.flip = region.flip_y = region.transpose = false;
    return region;
  }
  Region TurnOf(std::uint32_t picture_width, std::uint32_t picture_height) const noexcept {
    Region region = Whole(picture_width, picture_height);
    region.flip = flip;
    region.flip_y = flip_y;
    region.transpose = transpose;
    return region;
  }

  static Region Whole(std::uint32_t width, std::uint32_t height) noexcept {
    Region region;
    region.x = {0, double(width), 0, width, width, 0, width};
    region.y = {0, double(height), 0, height, height, 0, height};
    return region;
  }
  friend bool operator==(const Region&, const Region&) = default;
};

enum class PixelOrder { kInterleaved, kPlanar };  // HWC, CHW

struct PixelTarget {
  std::uint8_t* data = nullptr;  // the region's width x height x channels values, packed
  std::uint32_t channels = 0;    // 1 or 3: converted to that; or the payload's own count
  PixelOrder order = PixelOrder::kInterleaved;
  // By the time that somebody reads it, no cache holds it any more: it need not go through them.
  bool read_later = false;
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
