// Chooses how many of a batch's pictures are offered to the device to decode, if LoaderOptions
// leaves that to the loader (DecodeOn::kAuto). The choice follows from costs that the loader
// measures.
//
// The threads and the device work at the same time, so a batch takes as long as the slower side.
// Let a row cost a thread `kept` seconds if the host decodes it and `offered` if it is left to the
// device, which then needs `device` seconds. With a share x of the rows offered, W threads and the
// device need for each row
//
//     ((1 - x) kept + x offered) / W    and    x device
//
// Both are equal at x = kept / (W device + kept - offered): there neither side waits for the other.
// If leaving a row to the device costs a thread more than decoding it, then the smallest share is
// best.
//
// The object learns costs from every interval. A cost that an interval does not show (the host
// decodes nothing at a share of 1) stays as it was seen last.
//
// The share moves to the best share after two intervals in a row in which the best share lay on the
// same side, and far enough away: by at least 2 parts, and by at least a tenth of the present
// share. (If the best share is all rows, any distance is enough.) Intervals count only if decoding,
// the device or the ring was the bottleneck (Bound). While costs stay the same, so does the share.
// The share is never 0, so that the device's cost is always seen.
#pragma once

#include <sluice/loader_options.h>
#include <sluice/loader_stats.h>

#include "reader/batch/loader_device.h"

namespace sluice {

class DecodingShare {
 public:
  static constexpr unsigned kMoveAfter = 2;  // intervals in a row

  explicit DecodingShare(DecodeOn decode) noexcept;

  bool fixed() const noexcept { return fixed_; }
  // The present share, in parts of DeviceShare::kParts.
  unsigned parts() const noexcept { return parts_; }
  double share() const noexcept { return double(parts_) / DeviceShare::kParts; }
  std::uint64_t changes() const noexcept { return changes_; }

  // Learns from an interval, and what its rows cost. Returns whether parts() changed.
  bool Learn(const LoaderStats& interval, const DecodingCosts& costs) noexcept;

 private:
  unsigned Best(unsigned threads) const noexcept;

  bool fixed_;
  unsigned parts_;
  // Seconds a row; below 0: not seen yet.
  double kept_ = -1, offered_ = -1, device_ = -1;
  int streak_ = 0;  // intervals in a row that asked for more, or below 0 for less
  std::uint64_t changes_ = 0;
};

}  // namespace sluice
