// Makes several views of a picture from one decoding of the part that all of them together need.
//
// A view decoded by itself reads only its own rows, over the picture's whole width, and at a
// reduced size if possible. One decoding for all views reads each row once, at full size. The
// cheaper way is estimated from the views' frames alone, because the two ways differ by rounding
// and batches must not depend on anything else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/pixels/decode.h"
#include "reader/transform/frame.h"

namespace sluice {

// Approximate nanoseconds a pixel on one server core; only their ratios matter.
struct DecodeCosts {
  double read = 0;    // entropy decoding, of the picture's rows that a view needs
  double reduce = 0;  // inverse transform and resampling of a part of them, for one view
  double whole = 0;   // inverse transform and colours of that part at full size
  double sample = 0;  // resampling from that
  static DecodeCosts Of(Codec codec) noexcept;
};

// Each worker thread has one.
class SharedPart {
 public:
  // Whether one decoding is cheaper for these frames of a picture of that size and codec.
  static bool Cheaper(const ImagePayload& payload, std::span<const Frame> frames) noexcept;

  // Decodes the part that all frames together need, into pixels of `channels` channels.
  Defect Decode(PayloadDecoder& decoder, const ImagePayload& payload, std::span<const Frame> frames,
                std::uint32_t channels);
  // Resamples a region as if from the whole picture. It must be one of those frames'.
  Defect Take(PayloadDecoder& decoder, const Region& region, const PixelTarget& target) const;

 private:
  std::uint32_t left_ = 0, top_ = 0, width_ = 0, height_ = 0, channels_ = 0;
  std::vector<std::byte> pixels_;
};

}  // namespace sluice
