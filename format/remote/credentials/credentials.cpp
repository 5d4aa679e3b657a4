// A server's message is shown to people only after its secrets have been masked: some servers
// repeat the request, with its signature.
//
// RenewedCredentials fetches once for all threads. While the credentials age, it still returns the
// old ones and renews them on a thread of its own, so that no request waits; callers wait only once
// the old credentials are unusable. A failure is reported to all callers for a while, since each
// attempt can take seconds.
#include "format/remote/credentials/credentials.h"

#include <algorithm>
#include <string_view>

#include <sluice/shown_text.h>

#include "format/disk/system_error.h"

namespace sluice {

namespace {

constexpr std::string_view kMasked = "***";

void MaskAll(std::string& text, const std::string& secret) {
  if (secret.empty()) return;
  for (std::size_t at = text.find(secret); at != std::string::npos;
       at = text.find(secret, at + kMasked.size())) {
    text.replace(at, secret.size(), kMasked);
  }
}

// Masks the values in "Signature=1f2e, Credential=AKIA/..." and "X-Amz-Signature=1f2e&", whole or
// truncated.
void MaskValues(std::string& text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    at += name.size();
    const std::size_t end = std::min(text.find_first_of(" ,;&\"'<>\t\r\n", at), text.size());
    text.replace(at, end - at, kMasked);
  }
}

// Masks long hexadecimal numbers: a signature without its name, or the digest of a request.
void MaskDigests(std::string& text) {
  constexpr std::size_t kLeastDigits = 32;
  constexpr const char* kDigits = "0123456789abcdefABCDEF";
  for (std::size_t at = text.find_first_of(kDigits); at != std::string::npos;
       at = text.find_first_of(kDigits, at)) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    const bool masked = end - at >= kLeastDigits;
    if (masked) text.replace(at, end - at, kMasked);
    at = masked ? at + kMasked.size() : end;
  }
}

}  // namespace

std::string WithoutSecrets(std::string text, const Credentials& credentials) {
  constexpr std::size_t kMaxBytes = 300;
  for (const std::string& secret : {credentials.secret, credentials.token, credentials.key_id})
    MaskAll(text, secret);
  for (const char* const name : {"ignature=", "redential=", "ecurity-Token=", "ecurity-token:"})
    MaskValues(text, name);
  MaskDigests(text);
  text = ShownText(text);
  if (text.size() > kMaxBytes) text.resize(kMaxBytes);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  }
  return text;
}

namespace {

// How long a failure is reported to all callers; the next call after that tries again.
constexpr std::chrono::seconds kFailureHolds{2};
// The pause between background renewals that failed, or that returned credentials already ageing.
constexpr std::chrono::seconds kBetweenRenewals{10};

}  // namespace

RenewedCredentials::~RenewedCredentials() {
  std::thread last;
  {
    const MutexLock lock(mutex_);
    while (renewing_)
      changed_.Wait(mutex_);
    last = std::move(thread_);
  }
  if (last.joinable()) last.join();
}

// Credentials are not usable in their last moments, since a request takes time to arrive.
bool RenewedCredentials::Usable() const {
  if (!current_) return false;
  if (!current_->expiry) return true;
  const auto margin = std::min<std::chrono::system_clock::duration>(
      std::chrono::seconds(15), (*current_->expiry - fetched_) / 20);
  return std::chrono::system_clock::now() + margin < *current_->expiry;
}

bool RenewedCredentials::Ageing() const {
  if (!current_ || !current_->expiry) return false;
  const auto now = std::chrono::system_clock::now();
  const auto early = std::min<std::chrono::system_clock::duration>(
      std::chrono::minutes(5), (*current_->expiry - fetched_) / 5);
  return now + early >= *current_->expiry &&
         now - fetched_ >= std::min<std::chrono::system_clock::duration>(kBetweenRenewals, early);
}

// Fetches without holding the mutex; callers that arrive meanwhile wait until `renewing_` is false.
void RenewedCredentials::Renew() {
  renewing_ = true;
  std::optional<Credentials> found;
  std::optional<Error> failure;
  {
    const MutexUnlock unlock(mutex_);
    try {
      found = fetch_();
    } catch (const Error& error) {
      failure = error;
    } catch (const std::bad_alloc&) {
      failure = OutOfMemory();
    } catch (const std::exception&) {
      failure.emplace(ErrorCode::kIo, "the search for credentials failed");
    }
  }
  // If the source returned credentials before and now returns none, it counts as failing, and is
  // asked again.
  if (found && found->anonymous() && current_ && !current_->anonymous()) {
    found.reset();
    failure.emplace(ErrorCode::kIo,
                    "credentials could not be renewed: their source no longer has any");
  }
  if (found) current_ = std::move(found);
  failure_ = std::move(failure);
  fetched_ = std::chrono::system_clock::now();
  renewing_ = false;
  for (const auto& call : ready_)
    call();
  ready_.clear();
  changed_.NotifyAll();
}

void RenewedCredentials::RenewInBackground() {
  if (renewing_) return;
  // The old thread holds the mutex to its end, except while it fetches, and then renewing_ is true.
  // So it is about to end now: renewing_ is false, and this thread has the mutex.
  if (thread_.joinable()) thread_.join();
  try {
    thread_ = std::thread([this] {
      const MutexLock lock(mutex_);
      Renew();
    });
  } catch (const std::system_error&) {
    throw Error(ErrorCode::kLimit,
                "cannot start a thread to renew the credentials; raise the limit of threads");
  }
  renewing_ = true;
}

Credentials RenewedCredentials::Get() {
  const MutexLock lock(mutex_);
  while (!Usable()) {
    if (renewing_) {
      changed_.Wait(mutex_);
      continue;
    }
    const bool failed_just_now =
        failure_ && std::chrono::system_clock::now() - fetched_ < kFailureHolds;
    if (!failed_just_now) Renew();
    if (failure_) throw *failure_;
    if (current_ && !Usable()) break;  // already expired when fetched: the server will say so
  }
  if (Ageing()) RenewInBackground();
  return *current_;
}

std::optional<Credentials> RenewedCredentials::TryGet(std::function<void()> ready) {
  const MutexLock lock(mutex_);
  const bool fresh_failure =
      failure_ && std::chrono::system_clock::now() - fetched_ < kFailureHolds;
  const bool just_came =
      current_ && !failure_ && std::chrono::system_clock::now() - fetched_ < kFailureHolds;
  if (!renewing_ && !Usable()) {
    if (fresh_failure) throw *failure_;
    if (just_came) return current_;  // already expired when fetched: the server will say so
  }
  if (!Usable()) {
    ready_.push_back(std::move(ready));
    RenewInBackground();
    return std::nullopt;
  }
  if (Ageing()) RenewInBackground();
  return current_;
}

void RenewedCredentials::Expired(const Credentials& used) {
  const MutexLock lock(mutex_);
  if (current_ && *current_ == used && !renewing_) current_.reset();
}

}  // namespace sluice
