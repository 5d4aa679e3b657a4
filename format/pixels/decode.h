// Decodes payloads of every codec to pixels.
//
// A PayloadDecoder turns one payload into one image of a batch, in a single pass, which touches
// only what the region needs. Each worker thread owns a decoder, which keeps its memory from image
// to image. Nothing here throws on bad payloads: the returned Defect says what is wrong.
#pragma once

#include <array>
#include <memory>
#include <span>

#include <sluice/image.h>

#include "format/disk/block.h"

namespace sluice {

// Which part of a picture goes where, along one axis. The picture's interval [start, start +
// length), in pixels of the full-size image, is resampled to `out` target pixels, beginning at
// `at`; the rest of the target is border. Only source pixels in [bound, bound + bound_length) are
// used, and the interval lies inside them.
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

// The spans are along the picture's own axes; the result is mirrored and transposed afterwards.
struct Region {
  Span x, y;
  bool flip = false;       // mirrors left to right
  bool flip_y = false;     // mirrors top to bottom
  bool transpose = false;  // makes rows columns, after the mirroring
  // The border outside the spans: the picture mirrored at its outermost pixels, or a colour (by
  // channel).
  bool reflect = false;
  std::array<std::uint8_t, 3> fill = {0, 0, 0};
  Filter filter = Filter::kTriangle;

  // The target's size.
  std::uint32_t width() const noexcept { return transpose ? y.target : x.target; }
  std::uint32_t height() const noexcept { return transpose ? x.target : y.target; }
  bool bordered() const noexcept { return x.out != x.target || y.out != y.target; }

  // Upright(): the region without mirroring and transposing. TurnOf(): a region that does only
  // these two, to a whole picture of that size.
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

// A rectangle of whole pixels.
struct PixelRect {
  std::uint32_t left = 0, top = 0, right = 0, bottom = 0;
  friend bool operator==(const PixelRect&, const PixelRect&) = default;
};

// The part of the region's target that shows the picture.
PixelRect ShownOf(const Region& region) noexcept;

// Whether the region's spans lie inside a picture of that size and inside its own target.
bool LiesInside(const Region& region, std::uint32_t width, std::uint32_t height) noexcept;

enum class PixelOrder { kInterleaved, kPlanar };  // HWC, CHW

struct PixelTarget {
  std::uint8_t* data = nullptr;  // the region's width x height x channels values, packed
  std::uint32_t channels = 0;    // 1 or 3, to which pixels are converted; or the payload's own
  PixelOrder order = PixelOrder::kInterleaved;
  // The target is read so late that no cache holds it any more, so writes may bypass the caches.
  bool read_later = false;
  // The target's border has its pixels already: only the part that shows the picture is written.
  bool keeps_border = false;
};

// How much quality a decoder gives up for speed. The default is for a reader. A converter asks for
// more quality: it makes its pictures once, and they are read many times.
struct DecodePolicy {
  // The least number of samples that an inverse DCT at a reduced size leaves for each output pixel
  // on each axis. With 1, the DCT does nearly all of the filtering where one of its sizes fits;
  // with 2, at least half of the reduction is left to the region's filter.
  std::uint32_t samples_per_pixel = 1;
  // Whether to read what the region leaves out as well, to find damage anywhere in a file.
  bool whole_file = false;
  // Cb and Cr become half as large as Y on both axes; see PayloadDecoder::DecodeYcc420().
  bool halved_chroma = false;
};

// Values of a picture as JPEG stores it with halved chroma: all of Y, then all of Cb and of Cr at
// half the size, rounded up.
inline std::size_t Ycc420Values(std::uint32_t width, std::uint32_t height) noexcept {
  return std::size_t{width} * height +
         2 * (std::size_t{(width + 1) / 2} * ((std::size_t{height} + 1) / 2));
}

// Checks what an image's entry says against its codec, and against the size of raw pixels or of a
// zstd frame's content. Reads no more of the payload than a frame's header. Decode() begins with
// this check.
Defect CheckStored(const ImagePayload& payload) noexcept;

class WideDecoder;

class PayloadDecoder {
 public:
  explicit PayloadDecoder(DecodePolicy policy = {});
  ~PayloadDecoder();
  PayloadDecoder(PayloadDecoder&&) noexcept;
  PayloadDecoder& operator=(PayloadDecoder&&) noexcept;

  // Null, or a sentence that says why the payload cannot be decoded; it lives until the next call.
  // Of a wide image, only copies one to one, in its own channels; its target holds the stored
  // values. wide() does the rest.
  Defect Decode(const ImagePayload& payload, const Region& region, const PixelTarget& target);

  WideDecoder& wide() noexcept;

  // For several regions of one payload: DecodeViews() reads what they share once, where it can, and
  // DecodeView() then does what Decode() does for regions[i], with the same pixels. The payload's
  // bytes and the regions must be the same for both, with no other payload decoded in between.
  void DecodeViews(const ImagePayload& payload, std::span<const Region> regions);
  Defect DecodeView(std::size_t i, const ImagePayload& payload, const Region& region,
                    const PixelTarget& target);
  // Bytes of memory that DecodeViews() takes at most, for each pixel of the picture, in addition to
  // those that Decode() takes.
  static constexpr std::uint64_t kViewBytes = 8;

  // Fills Ycc420Values() of the region's size, each component resampled from its own resolution to
  // the size that it will be stored at. False if the payload is broken or is not a JPEG in Y Cb Cr,
  // or if the region has a border: then use Decode().
  bool DecodeYcc420(const ImagePayload& payload, const Region& region, std::uint8_t* values);

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
// False, with a sentence in `why`, if the file is not a JPEG or has no usable size.
bool ReadJpegInfo(Bytes file, JpegInfo& info, std::string& why);

}  // namespace sluice
