// What rows have cost a thread, by whether their pictures were offered to the device
// (DecodeOn::kAuto). An offered row is cheap if the device takes it, and dear if it does not.
#pragma once

#include <cstdint>

namespace sluice {

struct DecodingCosts {
  struct Rows {
    double seconds = 0;
    std::uint64_t count = 0;
  };
  Rows kept, offered;

  void Add(bool was_offered, double seconds) noexcept {
    Rows& rows = was_offered ? offered : kept;
    rows.seconds += seconds;
    ++rows.count;
  }
  DecodingCosts& operator+=(const DecodingCosts& more) noexcept {
    kept.seconds += more.kept.seconds;
    kept.count += more.kept.count;
    offered.seconds += more.offered.seconds;
    offered.count += more.offered.count;
    return *this;
  }
};

}  // namespace sluice
