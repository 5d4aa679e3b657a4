// The places where credentials are looked for, in the order of Amazon's own tools:
//
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   2. AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN (Kubernetes)
//   3. the profile AWS_PROFILE, else "default": its keys, its credential_process, or its role by
//      web identity
//   4. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (ECS, EKS)
//   5. the instance's metadata service, version 2, unless AWS_EC2_METADATA_DISABLED is true
//
// If none of them has credentials, or AWS_NO_SIGN_REQUEST is true, requests are not signed.
#pragma once

#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "format/remote/credentials/credentials.h"
#include "format/remote/http/environment.h"
#include "format/remote/http/http_answer.h"

namespace sluice {

// The means of a search: environment variables, and a way to send requests.
struct CredentialSearch {
  Environment environment;
  // Sends a request and waits for the answer.
  std::function<HttpReply(const HttpRequest&)> send;
  std::function<bool()> stopped;  // whether the search should end
};

// The settings of the profile that the environment names; empty without a profile. Throws Error if
// it names a profile that does not exist.
std::map<std::string, std::string> ChosenProfile(const Environment& environment);

// Searches all sources. Throws Error(kInvalidArgument), which names the source, if a source exists
// but gives no credentials.
Credentials FindCredentials(const CredentialSearch& search);

// Like FindCredentials(), for services other than Amazon's: searches only source 1, and source 3
// without its role, since the other sources give credentials for Amazon.
Credentials FindStaticCredentials(const CredentialSearch& search);

// Each searches one source, and returns nullopt if the source does not exist. (For chain.cpp and
// tests.)
std::optional<Credentials> CredentialsOfEnvironment(const Environment& environment);
std::optional<Credentials> CredentialsOfWebIdentity(const CredentialSearch& search,
                                                    const std::string& token_file,
                                                    const std::string& role,
                                                    const std::string& session);
std::optional<Credentials> CredentialsOfProfile(const CredentialSearch& search, bool amazon);
std::optional<Credentials> CredentialsOfContainer(const CredentialSearch& search);
std::optional<Credentials> CredentialsOfInstance(const CredentialSearch& search);

// The largest answer with credentials.
inline constexpr std::size_t kMaxCredentialBytes = 64 << 10;

// Parses the JSON of instances, containers and credential processes: AccessKeyId, SecretAccessKey,
// Token or SessionToken, Expiration. Returns nullopt for any other text.
std::optional<Credentials> CredentialsFromJson(std::string_view json);

// Parses the XML answer to AssumeRoleWithWebIdentity. Returns nullopt for any other text.
std::optional<Credentials> CredentialsFromSts(std::string_view xml);

// Parses "2026-11-22T22:17:01Z", also with fractions of seconds and other time zones (RFC 3339).
std::optional<Credentials::Time> ParseTime(std::string_view text);

// The file's content; nullopt if it cannot be read or is longer than `limit` bytes.
inline std::optional<std::string> ReadSmallFile(const std::string& path, std::size_t limit) {
  std::ifstream file(path, std::ios::binary);
  std::string text(limit + 1, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof())
    return std::nullopt;
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// The settings of each section: {"profile dev": {"region": "eu-west-1"}}. Like Amazon's tools,
// ignores lines that are neither a section, nor a setting, nor empty, nor a comment, and also
// ignores nested settings (indented lines).
using ProfileSections = std::map<std::string, std::map<std::string, std::string>>;
ProfileSections ParseProfiles(std::string_view text);

// The settings of one profile from both files; the credentials file has precedence.
std::map<std::string, std::string> SettingsOfProfile(const ProfileSections& credentials,
                                                     const ProfileSections& config,
                                                     const std::string& name);

}  // namespace sluice
