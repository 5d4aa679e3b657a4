// A link as its transfers show it: bytes per second, and the time to the first byte.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

namespace sluice {

class LinkMeasure {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kWindow{250};

  void Bytes(std::uint64_t bytes) noexcept { in_window_ += bytes; }
  void FirstByte(std::chrono::nanoseconds delay) noexcept {
    // Mean and mean deviation as of TCP's timer (RFC 6298).
    const double seconds = std::chrono::duration<double>(delay).count();
    if (first_bytes_++ == 0) {
      delay_ = seconds;
      deviation_ = seconds / 2;
      return;
    }
    deviation_ += (std::abs(seconds - delay_) - deviation_) / 4;
    delay_ += (seconds - delay_) / 8;
  }
  void ReadBytes(std::uint64_t bytes) noexcept {
    read_bytes_ = read_bytes_ == 0 ? static_cast<double>(bytes)
                                   : read_bytes_ + (static_cast<double>(bytes) - read_bytes_) / 8;
  }

  // A window begins. What came while nothing was in flight says nothing of the link.
  void Begin(Clock::time_point now) noexcept {
    in_window_ = 0;
    window_began_ = now;
  }
  // Ends the window if it has lasted long enough: its bytes per second. Another one begins.
  std::optional<double> End(Clock::time_point now) noexcept {
    if (now - window_began_ < kWindow) return std::nullopt;
    const double rate = static_cast<double>(in_window_) /
                        std::chrono::duration<double>(now - window_began_).count();
    rate_ = rate_ == 0 ? rate : rate_ + (rate - rate_) * 0.3;
    Begin(now);
    return rate;
  }

  // When a request without a first byte is a straggler.
  std::chrono::nanoseconds late() const noexcept {
    constexpr unsigned kEnough = 16;
    constexpr double kUnknown = 3.0, kLeast = 0.2;
    const double seconds =
        first_bytes_ < kEnough ? kUnknown : std::max(kLeast, delay_ + 6 * deviation_);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
  }

  // What one of so many transfers gets in the time to a first byte. A request sent when another has
  // no more than that to come begins to give bytes as that one ends, and the link does not stand
  // still in between.
  std::uint64_t tail_bytes(unsigned transfers) const noexcept {
    return static_cast<std::uint64_t>(rate_ * delay_ / std::max(1U, transfers));
  }

  // What `connections` keep in flight, and twice what the link carries in the time to a first byte:
  // for those that follow, and those that wait for others to be given in order. But no more than it
  // carries in two seconds, as what is asked for later may be more urgent.
  std::uint64_t useful_bytes(unsigned connections) const noexcept {
    constexpr double kUsualRead = 8 << 20;
    const double read = read_bytes_ == 0 ? kUsualRead : read_bytes_;
    double useful = connections * read;
    if (rate_ > 0) useful = std::min(useful + 2 * rate_ * delay_, std::max(rate_ * 2, 2 * read));
    return static_cast<std::uint64_t>(useful);
  }

 private:
  Clock::time_point window_began_{};
  std::uint64_t in_window_ = 0;
  double rate_ = 0;  // bytes per second
  double delay_ = 0, deviation_ = 0;
  unsigned first_bytes_ = 0;
  double read_bytes_ = 0;  // of a usual read
};

}  // namespace sluice
