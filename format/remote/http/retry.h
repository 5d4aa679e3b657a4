// When a request that failed is sent again: exponential backoff with full jitter, until nothing has
// come for too long.
//
// A server that fails does so for all requests, and a dataset has thousands. So the time is spent
// once: when one request has used it up, the others fail at their first failure, and are given
// little time for that, until one of them is answered in full.
//
// "Exponential Backoff And Jitter", AWS Architecture Blog: a random wait between 0 and the
// exponential bound spreads the repeats of many clients best.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>

#include "format/remote/http/http_answer.h"

namespace sluice {

struct RetrySettings {
  std::chrono::milliseconds first_wait{100};
  std::chrono::milliseconds longest_wait{10'000};
  // Without a byte of progress, repeats included.
  std::chrono::milliseconds timeout{120'000};
  // The same as long as the server has never answered: a wrong name or address becomes an error
  // soon. In an outage, how long no byte may come.
  std::chrono::milliseconds first_contact{4'000};
};

// A stretch of failure of one store: from when a request has used up its time until a request is
// answered in full, or until for that time again nobody could say so. Thread-safe.
class Outage {
 public:
  using Clock = std::chrono::steady_clock;

  void Begin(std::chrono::milliseconds timeout) noexcept {
    if (!Lasts()) end_ = (Clock::now() + timeout).time_since_epoch().count();
  }
  void End() noexcept { end_ = 0; }
  bool Lasts() const noexcept { return Clock::now().time_since_epoch().count() < end_; }

 private:
  std::atomic<Clock::rep> end_{0};  // at the latest
};

class Retries {
 public:
  using Clock = std::chrono::steady_clock;

  // `outage`: of the store; must outlive this.
  Retries(const RetrySettings& settings, Outage& outage)
      : settings_(settings), outage_(&outage), progress_(Clock::now()) {}

  // Bytes came: the wait begins at its shortest again.
  void Progress() {
    progress_ = Clock::now();
    failures_ = 0;
    renewed_ = false;
    hops_ = 0;
  }
  bool TimeIsUp() const { return Clock::now() - progress_ >= settings_.timeout; }
  // The request is given up because of that.
  void GiveUp() { outage_->Begin(settings_.timeout); }

  // How long to wait before asking again; nothing if asking again is of no use. `answered`: the
  // server has answered before.
  std::optional<std::chrono::milliseconds> Wait(const Verdict& verdict, bool answered) {
    constexpr int kMaxHops = 5;
    using Kind = Verdict::Kind;
    if (verdict.kind == Kind::kFinal) return std::nullopt;
    if (verdict.kind == Kind::kElsewhere) {
      if (++hops_ > kMaxHops) return std::nullopt;
      return std::chrono::milliseconds(0);
    }
    if (verdict.kind == Kind::kExpired) {
      if (renewed_) return std::nullopt;
      renewed_ = true;
      return std::chrono::milliseconds(0);
    }
    if (outage_->Lasts()) return std::nullopt;
    const auto bound =
        std::min(settings_.longest_wait, settings_.first_wait * (1 << std::min(failures_, 16)));
    ++failures_;
    const auto wait = std::max(verdict.wait, std::chrono::milliseconds(Below(bound.count() + 1)));
    const auto most = verdict.no_contact && !answered
                          ? std::min(settings_.first_contact, settings_.timeout)
                          : settings_.timeout;
    if (Clock::now() + wait - progress_ < most) return wait;
    GiveUp();
    return std::nullopt;
  }

 private:
  static std::int64_t Below(std::int64_t bound) {
    thread_local std::minstd_rand random{std::random_device{}()};
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random);
  }

  RetrySettings settings_;
  Outage* outage_;
  Clock::time_point progress_;
  int failures_ = 0;
  int hops_ = 0;
  bool renewed_ = false;
};

}  // namespace sluice
