// The ranges that were requested from a store and are not delivered in full: which are under way,
// which wait, and which are tried again.
//
// Used only on the loop's thread, so it needs no locks.
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

// Counts and measurements that all threads may read.
struct StoreMeasures {
  std::atomic<std::uint64_t> requests{0}, repeated{0}, bytes{0};
  std::atomic<std::uint64_t> useful_bytes{0};
  // Whether the server, and one that it sends requests on to, has ever answered.
  std::atomic<bool> answered{false}, answered_elsewhere{false};
  std::atomic<bool>& answered_at(bool elsewhere) noexcept {
    return elsewhere ? answered_elsewhere : answered;
  }
  Outage outage;
};

class RangeReads {
 public:
  // All references must outlive this object. Without credentials, requests are not signed.
  RangeReads(HttpLoop& loop, Endpoint& endpoint, RenewedCredentials* credentials,
             const RetrySettings& retries, StoreMeasures& measures);

  void Add(std::uint64_t ticket, RangeRead read);
  void Cancel(std::uint64_t ticket);
  // Ends all reads, now and from now on, with Error(kState).
  void GiveUp();
  // Drops all reads without calling their functions. Does not use the credentials any more.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;
  using Ticket = std::uint64_t;

  // One request for the missing part of a range. A server may answer with the beginning of it.
  struct Attempt {
    HttpLoop::Ticket transfer = 0;
    Clock::time_point begun;
    Credentials credentials;
    Verdict verdict;         // on the reply so far; kGood while nothing is wrong
    bool got = false;        // whether a byte of the range has come
    bool ends = false;       // whether it ends so soon that another request may be sent already
    ObjectInfo info;         // from the reply's head
    std::uint64_t left = 0;  // bytes still to come, by the reply's head
  };
  struct Reading {
    Reading(const RetrySettings& settings, Outage& outage) : retries(settings, outage) {}
    RangeRead read;
    std::uint64_t order = 0;  // order of Add()
    std::uint64_t given = 0;  // bytes delivered
    bool begun = false;       // whether a request was sent
    bool hedged = false;      // whether a second request was sent since the last progress
    std::string redirected;   // redirect target; empty: the endpoint's URL
    Retries retries;
    std::string last_failure;       // what went wrong with the last request that failed
    int last_number = 0;            // its errno
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
  // Aborts all attempts except the one whose transfer is `except`; if that is 0, aborts all.
  void DropAttempts(Reading& reading, HttpLoop::Ticket except);
  Attempt* Find(Ticket ticket, HttpLoop::Ticket transfer, Reading*& reading);

  HttpLoop& loop_;
  Endpoint& endpoint_;
  RenewedCredentials* const credentials_;
  const RetrySettings retry_settings_;
  StoreMeasures& measures_;

  std::map<Ticket, Reading> readings_;
  std::set<Place> waiting_;
  // Readings for which a request was sent; the others wait for their first.
  std::set<Ticket> begun_;
  std::uint64_t next_order_ = 0;
  unsigned active_ = 0;  // attempts under way, of all readings
  unsigned ending_ = 0;  // of these, the attempts that end soon
  bool ticking_ = false;
  // Whether, in link_'s window so far, all connections were in use and more were wanted.
  bool all_in_use_ = false;
  bool for_credentials_ = false;  // all readings wait for new credentials
  bool given_up_ = false;
  bool closed_ = false;
  Clock::time_point last_halving_{};
  double hedges_left_ = 4;  // second requests that may be sent; see kHedgesPerRead
  ConnectionCount connections_;
  LinkMeasure link_;
};

}  // namespace sluice
