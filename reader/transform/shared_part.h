// Several views of one picture from one decoding of what all of them show.
//
// A view decoded for itself reads the rows that it needs, over the picture's whole width, and works
// at a reduced size where it can; one decoding for all of them reads each row once, at full size.
// Which costs less is estimated from the views' frames alone, so that batches depend on nothing
// else. The two ways differ by rounding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/pixels/decode.h"
#include "reader/transform/frame.h"

namespace sluice {

// Nanoseconds a pixel on one core of a server, about; only their ratios matter.
struct DecodeCosts {
  double read = 0;    // entropy decoding, of the picture's rows that a view needs
  double reduce = 0;  // inverse transform and resampling of a part of them, for one view
  double whole = 0;   // inverse transform and colours of that part at full size
  double sample = 0;  // resampling from those
  static DecodeCosts Of(Codec codec) noexcept;
};

// Each worker thread has one.
class SharedPart {
 public:
  // Whether one decoding is the cheaper way for these frames of a picture of that size and codec.
  static bool Cheaper(const ImagePayload& payload, std::span<const Frame> frames) noexcept;

  // Decodes what all of them show, into pixels of `channels`.
  Defect Decode(PayloadDecoder& decoder, const ImagePayload& payload, std::span<const Frame> frames,
                std::uint32_t channels);
  // As if of the whole picture: a region that is one of those frames'.
  Defect Take(PayloadDecoder& decoder, const Region& region, const PixelTarget& target) const;

 private:
  std::uint32_t left_ = 0, top_ = 0, width_ = 0, height_ = 0, channels_ = 0;
  std::vector<std::byte> pixels_;
};

}  // namespace sluice
