// Credentials that requests are signed with, and their renewal before they expire.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sluice/error.h>

#include "format/mutex.h"

namespace sluice {

struct Credentials {
  using Time = std::chrono::system_clock::time_point;

  std::string key_id;  // empty: requests are not signed
  std::string secret;
  std::string token;           // of a session; may be empty
  std::optional<Time> expiry;  // nothing: they do not expire by themselves

  bool anonymous() const noexcept { return key_id.empty(); }
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// `text` without key, secret, token and signatures, which some servers repeat, without the secrets
// of URLs and without characters that would disturb a terminal; at most 300 bytes. For what a
// server says.
std::string WithoutSecrets(std::string text, const Credentials& credentials);

// Credentials that are renewed before they expire.
//
// Thread-safe. What is found is kept, and renewed on a thread of its own: while a fifth of its time
// is left (five minutes at most) the old is still given out.
class RenewedCredentials {
 public:
  // `fetch` finds them, and may take long; throws Error.
  explicit RenewedCredentials(std::function<Credentials()> fetch) : fetch_(std::move(fetch)) {}
  // Waits for a renewal under way, which its owner has made end soon.
  ~RenewedCredentials();
  RenewedCredentials(const RenewedCredentials&) = delete;
  RenewedCredentials& operator=(const RenewedCredentials&) = delete;

  // Waits if need be. Throws what `fetch` throws.
  Credentials Get();
  // Never waits: nothing if they must be fetched first, and then `ready` is called once on another
  // thread, which must not call back into this, after which this gives them, or throws what `fetch`
  // threw.
  std::optional<Credentials> TryGet(std::function<void()> ready);
  // The server says that these have expired. No-op if they were renewed meanwhile.
  void Expired(const Credentials& used);

 private:
  using Time = Credentials::Time;
  bool Usable() const REQUIRES(mutex_);
  bool Ageing() const REQUIRES(mutex_);
  void Renew() REQUIRES(mutex_);
  void RenewInBackground() REQUIRES(mutex_);

  const std::function<Credentials()> fetch_;
  Mutex mutex_;
  Condition changed_;
  std::optional<Credentials> current_ GUARDED_BY(mutex_);
  Time fetched_ GUARDED_BY(mutex_);                  // when the last fetch ended, well or not
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // of the last fetch
  bool renewing_ GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> ready_ GUARDED_BY(mutex_);
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace sluice
