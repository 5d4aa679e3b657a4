// The ranges that a store has been asked for and has not given whole: which are begun, which wait,
// which are tried again.
//
// Lives on its loop's thread; so nothing here is locked.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "format/remote/http/http_loop.h"
#include "format/remote/http/link.h"
#include "format/remote/http/retry.h"
#include "format/remote/object_store.h"
#include "format/remote/server/endpoint.h"

namespace sluice {

class RenewedCredentials;

// Measures that all threads may read.
struct StoreMeasures {
  std::atomic<std::uint64_t> requests{0}, repeated{0}, bytes{0};
  std::atomic<std::uint64_t> useful_bytes{0};
  std::atomic<bool> answered{false};  // the server, at all
  Outage outage;
};

class RangeReads {
 public:
  // All must outlive it; without credentials requests are not signed.
  RangeReads(HttpLoop& loop, Endpoint& endpoint, RenewedCredentials* credentials,
             const RetrySettings& retries, StoreMeasures& measures);

  void Add(std::uint64_t ticket, RangeRead read);
  void Cancel(std::uint64_t ticket);
  // Ends all reads, and those that come later, with Error(kState).
  void GiveUp();
  // Drops all reads, without a call, and uses the credentials no more.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;
  using Ticket = std::uint64_t;

  // One request for what is missing of a range.
  struct Attempt {
    HttpLoop::Ticket transfer = 0;
    Clock::time_point begun;
    Credentials credentials;
    Verdict verdict;    // of its head; kGood as long as nothing is wrong
    bool got = false;   // whether a byte of the range has come
    bool ends = false;  // whether it ends so soon that another request may be sent already
    ObjectInfo info;    // as its head says
  };
  struct Reading {
    Reading(const RetrySettings& settings, Outage& outage) : retries(settings, outage) {}
    RangeRead read;
    std::uint64_t order = 0;  // of Add()
    std::uint64_t given = 0;  // bytes
    bool begun = false;
    bool hedged = false;     // since the last progress
    std::string redirected;  // URL; empty: the endpoint's
    Retries retries;
    std::string last_failure;
    int last_number = 0;
    std::vector<Attempt> attempts;  // two at most
  };
  struct Place {  // in the queue
    std::uint64_t urgency, order;
    Ticket ticket;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  bool MayBegin() const noexcept;
  void Begin();
  void Enqueue(Ticket ticket, const Reading& reading);
  void Request(Ticket ticket, Reading& reading);
  std::optional<Credentials> CredentialsNow();
  bool OnHead(Ticket ticket, HttpLoop::Ticket transfer, const HttpReply& reply);
  bool OnBody(Ticket ticket, HttpLoop::Ticket transfer, Bytes bytes);
  void OnEnd(Ticket ticket, HttpLoop::Ticket transfer, HttpReply&& reply);
  void Failed(Ticket ticket, Reading& reading, Verdict verdict);
  void End(Ticket ticket, const Error* error);
  void EndWith(Ticket ticket, const Verdict& verdict);
  void Tick();
  void StartTicking();
  void NoteEnding(const Reading& reading, Attempt& attempt);
  void Busy(Clock::time_point begun);
  // Aborts them all but one; 0: all.
  void DropAttempts(Reading& reading, HttpLoop::Ticket except);
  Attempt* Find(Ticket ticket, HttpLoop::Ticket transfer, Reading*& reading);

  HttpLoop& loop_;
  Endpoint& endpoint_;
  RenewedCredentials* const credentials_;
  const RetrySettings retry_settings_;
  StoreMeasures& measures_;

  std::map<Ticket, Reading> readings_;
  std::set<Place> waiting_;
  std::set<Ticket> begun_;  // a request was sent for them; the others only wait for their turn
  std::uint64_t next_order_ = 0;
  unsigned active_ = 0;  // attempts under way
  unsigned ending_ = 0;  // those of them that end soon
  bool ticking_ = false;
  bool all_in_use_ = false;       // since the window began
  bool for_credentials_ = false;  // all wait for new credentials
  bool given_up_ = false;
  bool closed_ = false;
  Clock::time_point last_halving_{};
  double hedges_left_ = 4;
  ConnectionCount connections_;
  LinkMeasure link_;
};

}  // namespace sluice
