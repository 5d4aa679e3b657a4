// The capacity of a link and a server, as transfers show it: how fast they are, when a request is a
// straggler, and how many connections pay.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

namespace sluice {

// A link as its transfers show it: bytes per second, and the time to the first byte.
class LinkMeasure {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kWindow{250};

  void NoteBytes(std::uint64_t bytes) noexcept { in_window_ += bytes; }
  void NoteFirstByte(std::chrono::nanoseconds delay) noexcept {
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
  // The size of a whole read, of which useful_bytes() makes a usual one.
  void NoteReadSize(std::uint64_t bytes) noexcept {
    read_bytes_ = read_bytes_ == 0 ? static_cast<double>(bytes)
                                   : read_bytes_ + (static_cast<double>(bytes) - read_bytes_) / 8;
  }

  // Begins a window. Call it when transfers begin after a pause: idle time says nothing of the
  // link.
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

  // The bytes that one of so many transfers gets in the time to a first byte. Send the next request
  // when another has no more than this to come: its first byte then arrives as that one ends.
  std::uint64_t tail_bytes(unsigned transfers) const noexcept {
    return static_cast<std::uint64_t>(rate_ * delay_ / std::max(1U, transfers));
  }

  // The bytes that `connections` keep in flight, and twice as many as the link carries in the time
  // to a first byte: for those that follow, and those that wait for others to be given in order.
  // But no more than it carries in two seconds, because a later request may be more urgent; that
  // limit is never less than two usual reads.
  std::uint64_t useful_bytes(unsigned connections) const noexcept {
    constexpr double kUsualRead = 8 << 20;  // before any was noted
    const double read = read_bytes_ == 0 ? kUsualRead : read_bytes_;
    double useful = connections * read;
    if (rate_ > 0) {
      const double limit = std::max(2 * rate_, 2 * read);
      useful = std::min(useful + 2 * rate_ * delay_, limit);
    }
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

// How many transfers a store has at a time.
//
// More connections give more bytes only up to a point that differs between links and servers. So
// the number climbs while each step pays, at first by halves of itself, and stays where it last
// paid; every now and then it tries a few more. A server that asks for fewer requests halves it.
class ConnectionCount {
 public:
  static constexpr unsigned kFirst = 16;
  static constexpr unsigned kMax = 192;
  // Of each connection: small enough for the CPU's cache and malloc()'s heap.
  static constexpr std::uint64_t kReceiveBuffer = 64 << 10;
  // With what curl and TLS take besides.
  static constexpr std::uint64_t kConnectionBytes = kReceiveBuffer + (128 << 10);

  unsigned limit() const noexcept { return limit_; }

  // Notes one window's rate. Call it only for windows in which all connections were in use and more
  // were wanted. All windows have the same length.
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
    limit_ = std::min(kMax, limit_ + (first_climb_ ? limit_ / 2 : kStep));
  }

  // The server asked for less. Ignore answers to requests sent before the last Halve().
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
