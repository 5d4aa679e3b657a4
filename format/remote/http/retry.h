// When a failed request is sent again: exponential backoff with full jitter, until no byte has come
// for too long.
//
// A server that fails does so for all requests, and a dataset needs thousands. So the waiting time
// is spent only once: when one request has used it up, an outage begins. Until the outage ends,
// every other request gets only a short time (first_contact), and ends at its first failure.
//
// "Exponential Backoff And Jitter", AWS Architecture Blog: a random wait between 0 and the
// exponential bound spreads the repeats of many clients best.
//
// format/remote/README.md ("Repeated requests") states these times. Those of connecting are in
// StoreSettings (server/remote_store.h).
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
  // The longest time without a byte of progress, repeats included.
  std::chrono::milliseconds timeout{120'000};
  // Replaces `timeout` if the server cannot be reached and has never answered, so that a wrong name
  // or address soon becomes an error. During an outage, it also limits the time for connecting and
  // the time without a byte.
  std::chrono::milliseconds first_contact{4'000};
};

// A period in which a store fails. It begins when a request has used up its time. It ends when a
// request is answered in full, or at the latest after RetrySettings::timeout. Thread-safe.
class Outage {
 public:
  using Clock = std::chrono::steady_clock;

  void Begin(std::chrono::milliseconds timeout) noexcept {
    if (!Lasts()) end_ = (Clock::now() + timeout).time_since_epoch().count();
  }
  void End() noexcept { end_ = 0; }
  bool Lasts() const noexcept { return Clock::now().time_since_epoch().count() < end_; }

 private:
  std::atomic<Clock::rep> end_{0};  // when it ends at the latest
};

class Retries {
 public:
  using Clock = std::chrono::steady_clock;

  // `outage`: the store's; must outlive this object.
  Retries(const RetrySettings& settings, Outage& outage)
      : settings_(settings), outage_(&outage), progress_(Clock::now()) {}

  // Call it when bytes have arrived: waits begin at their shortest again.
  void Progress() {
    progress_ = Clock::now();
    failures_ = 0;
    renewed_ = false;
    hops_ = 0;
  }
  bool TimeIsUp() const { return Clock::now() - progress_ >= settings_.timeout; }
  // Call it when the request is given up because it used up its time.
  void GiveUp() { outage_->Begin(settings_.timeout); }

  // The time to wait before asking again; nullopt if asking again is of no use. `answered`: whether
  // the server has ever answered.
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
    hops_ = 0;  // the next request begins at the store's own URL, or where the last one led
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
  Clock::time_point progress_;  // when the last byte came, or this object was made
  // Since then:
  int failures_ = 0;      // how many waits there were
  int hops_ = 0;          // how many redirects in a row
  bool renewed_ = false;  // whether credentials were renewed
};

}  // namespace sluice
