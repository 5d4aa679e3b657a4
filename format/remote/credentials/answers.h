// The forms in which sources of credentials hand them out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "format/remote/credentials/credentials.h"

namespace sluice {

// No answer with credentials is longer.
inline constexpr std::size_t kMostCredentialBytes = 64 << 10;

// JSON as of instances, containers and credential processes: AccessKeyId, SecretAccessKey, Token or
// SessionToken, Expiration. Nothing if it is not that.
std::optional<Credentials> CredentialsFromJson(std::string_view json);

// The XML of AssumeRoleWithWebIdentity. Nothing if it is not that.
std::optional<Credentials> CredentialsFromSts(std::string_view xml);

// "2026-11-22T22:17:01Z", with parts of seconds and other zones, too (RFC 3339).
std::optional<Credentials::Time> ParseTime(std::string_view text);

}  // namespace sluice
