// Credentials for signing requests, and their renewal before they expire.
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
  std::string token;           // session token; may be empty
  std::optional<Time> expiry;  // nullopt: no expiry is known

  bool anonymous() const noexcept { return key_id.empty(); }
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// A server's message, prepared for people: without key, secret, token and signatures (some servers
// repeat them), without the secrets of URLs, and without characters that would disturb a terminal.
// At most 300 bytes.
std::string WithoutSecrets(std::string text, const Credentials& credentials);

// Credentials that are renewed before they expire.
//
// Thread-safe. The object keeps the credentials that it found and renews them on a thread of its
// own. Renewal begins when a fifth of their lifetime is left (at most five minutes); meanwhile the
// old credentials are still returned.
class RenewedCredentials {
 public:
  // `fetch` finds credentials, and may take long; it may throw Error.
  explicit RenewedCredentials(std::function<Credentials()> fetch) : fetch_(std::move(fetch)) {}
  // Waits for a renewal in progress. The owner must make it end soon.
  ~RenewedCredentials();
  RenewedCredentials(const RenewedCredentials&) = delete;
  RenewedCredentials& operator=(const RenewedCredentials&) = delete;

  // Returns the credentials, and waits if they must be fetched first. Throws what `fetch` throws.
  Credentials Get();
  // Never waits. If the credentials must be fetched first, returns nullopt and later calls `ready`
  // once on another thread; after that, TryGet() returns the credentials or throws what `fetch`
  // threw. `ready` must not call back into this object.
  std::optional<Credentials> TryGet(std::function<void()> ready);
  // Call it if the server says that `used` has expired. No-op if the credentials were renewed
  // meanwhile.
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
  Time fetched_ GUARDED_BY(mutex_);                  // when the last fetch ended, successful or not
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // error of the last fetch
  bool renewing_ GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> ready_ GUARDED_BY(mutex_);  // to call after the renewal
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace sluice
