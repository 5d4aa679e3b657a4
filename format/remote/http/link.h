// The capacity of a link and a server, as measured on transfers: how fast they are, when a request
// counts as a straggler, and how many connections are worth it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

namespace sluice {

// Measures a link by its transfers: bytes per second, and the time to the first byte.
class LinkMeasure {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kWindow{250};

  void NoteBytes(std::uint64_t bytes) noexcept { in_window_ += bytes; }
  void NoteFirstByte(std::chrono::nanoseconds delay) noexcept {
    // Mean and mean deviation, as TCP's retransmission timer computes them (RFC 6298).
    const double seconds = std::chrono::duration<double>(delay).count();
    if (first_bytes_++ == 0) {
      delay_ = seconds;
      deviation_ = seconds / 2;
      return;
    }
    deviation_ += (std::abs(seconds - delay_) - deviation_) / 4;
    delay_ += (seconds - delay_) / 8;
  }
  // Notes the size of a whole read; useful_bytes() uses the mean of these sizes.
  void NoteReadSize(std::uint64_t bytes) noexcept {
    read_bytes_ = read_bytes_ == 0 ? static_cast<double>(bytes)
                                   : read_bytes_ + (static_cast<double>(bytes) - read_bytes_) / 8;
  }

  // Begins a window. Call it when transfers begin after a pause, since idle time says nothing about
  // the link.
  void Begin(Clock::time_point now) noexcept {
    in_window_ = 0;
    window_began_ = now;
  }
  // If the window has lasted long enough, ends it, returns its bytes per second, and begins
  // another.
  std::optional<double> End(Clock::time_point now) noexcept {
    if (now - window_began_ < kWindow) return std::nullopt;
    const double rate = static_cast<double>(in_window_) /
                        std::chrono::duration<double>(now - window_began_).count();
    rate_ = rate_ == 0 ? rate : rate_ + (rate - rate_) * 0.3;
    Begin(now);
    return rate;
  }

  // The time after which a request without a first byte counts as a straggler.
  std::chrono::nanoseconds late() const noexcept {
    constexpr unsigned kEnough = 16;
    constexpr double kUnknown = 3.0, kLeast = 0.2;
    const double seconds =
        first_bytes_ < kEnough ? kUnknown : std::max(kLeast, delay_ + 6 * deviation_);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
  }

  // The bytes that one of `transfers` transfers receives in the time to a first byte. Once a
  // transfer has no more than this left to receive, send the next request: its first byte then
  // arrives as that transfer ends.
  std::uint64_t tail_bytes(unsigned transfers) const noexcept {
    return static_cast<std::uint64_t>(rate_ * delay_ / std::max(1U, transfers));
  }

  // The bytes worth having in flight: those that `connections` keep in flight, plus twice as many
  // as the link carries in the time to a first byte, for requests that follow and for reads that
  // wait to be delivered in order. At most the bytes that the link carries in two seconds, because
  // a more urgent request may come, and would wait for all of them; but that limit is never less
  // than two usual reads.
  std::uint64_t useful_bytes(unsigned connections) const noexcept {
    constexpr double kUsualRead = 8 << 20;  // before a size was noted
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
  std::uint64_t in_window_ = 0;       // bytes received in this window
  double rate_ = 0;                   // bytes per second
  double delay_ = 0, deviation_ = 0;  // of the time to the first byte, in seconds
  unsigned first_bytes_ = 0;          // how many of these times were noted
  double read_bytes_ = 0;             // size of a usual read
};

// Chooses how many transfers a store runs at once.
//
// More connections give more bytes per second only up to a point, which differs between links and
// servers. So the number rises, at first by half of itself, as long as each step pays. If a step
// does not pay, the number returns to the last one that did; now and then, a few more are tried. If
// a server asks for fewer requests, the number is halved.
class ConnectionCount {
 public:
  static constexpr unsigned kFirst = 16;
  static constexpr unsigned kMax = 192;
  // Bytes for each connection: so small that they fit into the CPU's cache, and that malloc() takes
  // them from its heap instead of calling mmap().
  static constexpr std::uint64_t kReceiveBuffer = 64 << 10;
  // kReceiveBuffer and the memory that curl and TLS take.
  static constexpr std::uint64_t kConnectionBytes = kReceiveBuffer + (128 << 10);

  unsigned limit() const noexcept { return limit_; }

  // Notes one window's rate. Call it only for windows in which all connections were in use and more
  // were wanted. All windows must have the same length.
  void Window(double bytes_per_second) noexcept {
    if (bytes_per_second <= 0) return;  // no information: the server answers later, or not at all
    if (pause_ > 0) {
      --pause_;
      proven_rate_ += (bytes_per_second - proven_rate_) / 4;
      return;
    }
    if (limit_ > proven_) {
      // A step pays if it gains at least a quarter of what independent connections would gain.
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

  // Call it when the server asks for fewer requests, but not for answers to requests that were sent
  // before the last Halve().
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
  unsigned proven_ = kFirst;  // the last number that paid
  double proven_rate_ = 0;    // bytes per second with that number
  unsigned pause_ = 0;        // windows to wait before the next step
  bool first_climb_ = true;   // until a step does not pay, or Halve()
};

}  // namespace sluice
