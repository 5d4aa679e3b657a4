// Takes a region out of a picture without mixing pixels. For masks, whose values are class numbers.
//
// Target pixel i of a span shows the source pixel that holds its centre, floor(start + (i + 0.5) *
// length / out): Pillow's NEAREST, torchvision's NEAREST_EXACT.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/decode.h"

namespace sluice {

// Pixels of `value_bytes` x `channels` bytes, interleaved, rows without padding.
struct MaskView {
  const std::uint8_t* data = nullptr;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 1;
  std::uint32_t value_bytes = 1;
  std::uint32_t fill = 0;  // bits of the pixels outside the spans, if the border is a colour
};

// Sets `count` values of one, two or four bytes.
void SetValues(std::uint8_t* values, std::size_t count, std::uint32_t value_bytes,
               std::uint32_t value) noexcept;

// Keeps its memory from picture to picture; one thread at a time.
class NearestSampler {
 public:
  // Fills region.width() x region.height() pixels. The spans must lie inside the picture. The
  // region's own colour is ignored: it is for pictures. `keeps_border`: as in PixelTarget.
  void Sample(const MaskView& mask, const Region& region, PixelOrder order, std::uint8_t* target,
              bool keeps_border = false);

 private:
  void SampleUpright(const MaskView& mask, const Region& region, PixelOrder order,
                     std::uint8_t* target);
  std::vector<std::uint32_t> columns_;
  std::vector<std::uint8_t> upright_;  // a target before its rows become columns
  std::vector<std::uint8_t> alone_;    // one without its border
};

}  // namespace sluice
