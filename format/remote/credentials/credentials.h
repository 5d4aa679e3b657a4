// What a request is signed with. Nothing prints it: no message, no log, no measure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

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

}  // namespace sluice
