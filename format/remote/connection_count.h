// How many transfers a store has at a time.
//
// More connections give more bytes only up to a point that differs between links and servers. So
// the number climbs while each step pays, at first by halves of itself, and stays where it last
// paid; every now and then it tries a few more. A server that asks for fewer requests halves it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

class ConnectionCount {
 public:
  static constexpr unsigned kFirst = 16;
  static constexpr unsigned kMost = 192;
  // Of each connection, small enough for the CPU's cache and malloc()'s heap; and with what curl
  // and TLS take besides.
  static constexpr std::uint64_t kReceiveBuffer = 64 << 10;
  static constexpr std::uint64_t kConnectionBytes = kReceiveBuffer + (128 << 10);

  unsigned limit() const noexcept { return limit_; }

  // Windows of the same length, in each of which all connections were in use and more were wanted.
  void Window(double bytes_per_second) noexcept {
    if (bytes_per_second <= 0) return;  // says nothing: the server answers later, or not at all
    if (pause_ > 0) {
      --pause_;
      proven_rate_ += (bytes_per_second - proven_rate_) / 4;
      return;
    }
    if (limit_ > proven_) {
      // A step pays if it gives at least a quarter of what connections that share nothing would.
      const double growth = static_cast<double>(limit_) / proven_;
      if (bytes_per_second < proven_rate_ * (1 + (growth - 1) / 4)) {
        limit_ = proven_;
        pause_ = kWindowsBetweenTrials;
        first_climb_ = false;
        return;
      }
    }
    proven_ = limit_;
    proven_rate_ = bytes_per_second;
    limit_ = std::min(kMost, limit_ + (first_climb_ ? limit_ / 2 : kStep));
  }

  // The server asked for less. Not for answers to requests from before the last call.
  void Halve() noexcept {
    limit_ = proven_ = std::max(1U, limit_ / 2);
    proven_rate_ = 0;
    pause_ = kWindowsAfterHalving;
    first_climb_ = false;
  }

 private:
  static constexpr unsigned kStep = 4;
  static constexpr unsigned kWindowsBetweenTrials = 40;
  static constexpr unsigned kWindowsAfterHalving = 8;

  unsigned limit_ = kFirst;
  unsigned proven_ = kFirst;
  double proven_rate_ = 0;
  unsigned pause_ = 0;
  bool first_climb_ = true;
};

}  // namespace sluice
