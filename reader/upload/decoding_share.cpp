#include "reader/upload/decoding_share.h"

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {

// An interval with fewer rows than this says nothing about their cost.
constexpr std::uint64_t kEnoughRows = 8;
// The share moves only by at least this fraction of itself, and by at least 2 of its
// DeviceShare::kParts parts.
constexpr double kWorthMoving = 0.1;

// Sets `cost` to the mean of what it was and the interval's cost: an interval counts as much as all
// those before it.
void UpdateMean(double& cost, double seconds, std::uint64_t rows) noexcept {
  if (rows < kEnoughRows) return;
  const double now = seconds / double(rows);
  cost = cost < 0 ? now : (cost + now) / 2;
}

}  // namespace

DecodingShare::DecodingShare(DecodeOn decode) noexcept
    : fixed_(decode != DecodeOn::kAuto),
      parts_(decode == DecodeOn::kHost ? 0
             : fixed_                  ? DeviceShare::kParts
                                       : DeviceShare::kParts / 2) {}

unsigned DecodingShare::Best(unsigned threads) const noexcept {
  if (offered_ >= kept_) return 1;  // leaving a row to the device saves a thread nothing
  // The x of the formula in decoding_share.h.
  const double share = kept_ / (threads * device_ + kept_ - offered_);
  return static_cast<unsigned>(
      std::clamp(std::lround(share * DeviceShare::kParts), long{1}, long{DeviceShare::kParts}));
}

bool DecodingShare::Learn(const LoaderStats& interval, const DecodingCosts& costs) noexcept {
  if (fixed_) return false;
  UpdateMean(kept_, costs.kept.seconds, costs.kept.count);
  UpdateMean(offered_, costs.offered.seconds, costs.offered.count);
  UpdateMean(device_, interval.device_decode_seconds, costs.offered.count);
  const Bound bound = interval.bound();
  const bool decoding =
      bound == Bound::kDecoding || bound == Bound::kDevice || bound == Bound::kPrefetch;
  if (!decoding || kept_ < 0 || offered_ < 0 || device_ < 0) {
    streak_ = 0;
    return false;
  }
  const unsigned best = Best(std::max(interval.threads, 1U));
  const int change = static_cast<int>(best) - static_cast<int>(parts_);
  const bool rises_to_all = best == DeviceShare::kParts && change > 0;
  if (std::abs(change) < std::max(2.0, kWorthMoving * parts_) && !rises_to_all) {
    streak_ = 0;
    return false;
  }
  // A change in the other direction restarts the count.
  streak_ = change > 0 ? std::max(streak_, 0) + 1 : std::min(streak_, 0) - 1;
  if (std::abs(streak_) < int{kMoveAfter}) return false;
  streak_ = 0;
  parts_ = best;
  ++changes_;
  return true;
}

}  // namespace sluice
