// The sources of credentials that need no profile files, the forms in which they answer, and the
// order in which they are asked.
//
// If a source does not exist, the next one is asked. If a source exists and fails, that is an error
// that names the source: credentials of a later source would send the request in another identity's
// name.
#include "format/remote/credentials/chain.h"

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/disk/json.h"
#include "format/remote/http/url.h"
#include "format/xml.h"

namespace sluice {

namespace {

// Whether the text may stand in a header. Other text could end the header and begin another one.
bool IsHeaderText(const std::string& text) {
  for (const char c : text) {
    if (c <= ' ' || c == 127) return false;
  }
  return true;
}

std::optional<Credentials> CheckedCredentials(Credentials credentials) {
  if (credentials.key_id.empty() || credentials.secret.empty() ||
      !IsHeaderText(credentials.key_id) || !IsHeaderText(credentials.secret) ||
      !IsHeaderText(credentials.token)) {
    return std::nullopt;
  }
  return credentials;
}

// The value of the digits at [first, first + count), or -1.
int DigitsAt(std::string_view text, std::size_t first, std::size_t count) {
  int value = 0;
  if (text.size() < first + count) return -1;
  for (std::size_t i = first; i < first + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

std::optional<Credentials::Time> ParseTime(std::string_view text) {
  std::tm time{};
  // Some services write "never" as the year 9999, which the clock's nanoseconds cannot represent.
  constexpr int kLastYear = 2200;
  time.tm_year = std::min(DigitsAt(text, 0, 4), kLastYear) - 1900;
  time.tm_mon = DigitsAt(text, 5, 2) - 1;
  time.tm_mday = DigitsAt(text, 8, 2);
  time.tm_hour = DigitsAt(text, 11, 2);
  time.tm_min = DigitsAt(text, 14, 2);
  time.tm_sec = DigitsAt(text, 17, 2);
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':' ||
      time.tm_year < 0 || time.tm_mon < 0 || time.tm_mon > 11 || time.tm_mday < 1 ||
      time.tm_mday > 31 || time.tm_hour < 0 || time.tm_hour > 23 || time.tm_min < 0 ||
      time.tm_min > 59 || time.tm_sec < 0 || time.tm_sec > 60) {
    return std::nullopt;
  }
  text.remove_prefix(19);
  if (text.starts_with('.'))
    text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
  int zone_minutes = 0;
  if (text != "Z") {
    const int hours = DigitsAt(text, 1, 2), minutes = DigitsAt(text, 4, 2);
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':' || hours < 0 ||
        hours > 23 || minutes < 0 || minutes > 59) {
      return std::nullopt;
    }
    zone_minutes = (hours * 60 + minutes) * (text[0] == '-' ? -1 : 1);
  }
  // timegm() takes the time for UTC, so the zone's offset is taken off afterwards.
  const std::time_t seconds = timegm(&time) - zone_minutes * 60;
  return std::chrono::system_clock::from_time_t(seconds);
}

std::optional<Credentials> CredentialsFromJson(std::string_view json) {
  constexpr unsigned kDeepest = 8;
  if (json.size() > kMaxCredentialBytes || NestsDeeperThan(json, kDeepest)) return std::nullopt;
  const auto document = nlohmann::json::parse(json, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  const auto text = [&](const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_string() ? found->get<std::string>()
                                                         : std::string();
  };
  Credentials credentials;
  credentials.key_id = text("AccessKeyId");
  credentials.secret = text("SecretAccessKey");
  credentials.token = text("Token").empty() ? text("SessionToken") : text("Token");
  if (const std::string expiry = text("Expiration"); !expiry.empty()) {
    credentials.expiry = ParseTime(expiry);
    if (!credentials.expiry) return std::nullopt;
  }
  return CheckedCredentials(std::move(credentials));
}

std::optional<Credentials> CredentialsFromSts(std::string_view xml) {
  constexpr std::string_view kBefore =
      "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/";
  Credentials credentials;
  if (xml.size() > kMaxCredentialBytes) return std::nullopt;
  bool sound = true;
  const bool read = ReadXml(xml, [&](std::string_view path, std::string&& text) {
    if (!path.starts_with(kBefore)) return;
    path.remove_prefix(kBefore.size());
    if (path == "AccessKeyId") credentials.key_id = std::move(text);
    if (path == "SecretAccessKey") credentials.secret = std::move(text);
    if (path == "SessionToken") credentials.token = std::move(text);
    if (path == "Expiration") {
      credentials.expiry = ParseTime(text);
      sound = credentials.expiry.has_value();
    }
  });
  return read && sound ? CheckedCredentials(std::move(credentials)) : std::nullopt;
}

namespace {

// Asks up to three times, until the service answers without a server error.
HttpReply AskService(const CredentialSearch& search, const HttpRequest& request) {
  HttpReply reply;
  for (int tries = 0; tries < 3 && !search.stopped(); ++tries) {
    reply = search.send(request);
    // An answer below 500 is final: it says what is wrong with the request.
    if (reply.whole() && reply.status < 500) break;
  }
  return reply;
}

std::string StatusText(const HttpReply& reply) {
  return reply.status == 0 ? reply.why : "HTTP " + std::to_string(reply.status);
}

// The service that issues credentials of roles; in the region, if one is set.
std::string StsEndpoint(const CredentialSearch& search) {
  for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    if (const std::string url = search.environment(name); !url.empty()) {
      return ParseHttpOrigin(url, name).origin;
    }
  }
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    const std::string region = search.environment(name);
    if (region.empty() ||
        region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
      continue;
    return "https://sts." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
  }
  return "https://sts.amazonaws.com";
}

}  // namespace

std::optional<Credentials> CredentialsOfWebIdentity(const CredentialSearch& search,
                                                    const std::string& token_file,
                                                    const std::string& role,
                                                    const std::string& session) {
  constexpr std::size_t kMaxTokenBytes = 20'000;  // AssumeRoleWithWebIdentity's own limit
  if (token_file.empty() || role.empty()) return std::nullopt;
  auto token = ReadSmallFile(token_file, kMaxTokenBytes);
  while (token && !token->empty() && (token->back() == '\n' || token->back() == '\r'))
    token->pop_back();
  if (!token || token->empty()) {
    throw Error(ErrorCode::kInvalidArgument, token_file,
                "the token of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read, or is empty or too long");
  }
  const std::string form =
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + PercentEncoded(role, false) +
      "&RoleSessionName=" + PercentEncoded(session.empty() ? "sluice" : session, false) +
      "&WebIdentityToken=" + PercentEncoded(*token, false);
  HttpRequest request;
  request.method = "POST";
  request.url = StsEndpoint(search) + "/";
  request.headers = {"content-type: application/x-www-form-urlencoded"};
  request.body = AsBytes(form);
  const HttpReply reply = AskService(search, request);
  if (reply.succeeded()) {
    if (auto credentials = CredentialsFromSts(reply.body)) return credentials;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "the role in AWS_ROLE_ARN could not be assumed with the token in "
              "AWS_WEB_IDENTITY_TOKEN_FILE (" +
                  StatusText(reply) + " from " + StsEndpoint(search) +
                  "); check the role's trust policy, and that the token is not too old");
}

namespace {

constexpr const char* kRelativeTo = "http://169.254.170.2";

// Whether a token may be sent to that URL: without encryption, only to this machine or its host.
bool MaySendTokenTo(const std::string& url) {
  if (url.starts_with("https://")) return true;
  std::string host = ParseHttpOrigin(url, "AWS_CONTAINER_CREDENTIALS_FULL_URI").host;
  const std::size_t bracket = host.rfind(']');
  host = host.substr(0, host.find(':', bracket == std::string::npos ? 0 : bracket));
  const bool loopback =
      host == "localhost" || host == "[::1]" ||
      (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
  return loopback || host == "169.254.170.2" || host == "169.254.170.23" ||
         host == "[fd00:ec2::23]";
}

std::string ContainerToken(const Environment& environment) {
  constexpr std::size_t kMaxBytes = 16 << 10;
  std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !file.empty()) {
    const auto text = ReadSmallFile(file, kMaxBytes);
    if (!text) {
      throw Error(ErrorCode::kInvalidArgument, file,
                  "the token of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read");
    }
    token = *text;
  }
  if (token.find_first_of("\r\n") != std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument,
                "the container's authorization token has a line break in it");
  }
  return token;
}

}  // namespace

std::optional<Credentials> CredentialsOfContainer(const CredentialSearch& search) {
  const std::string relative = search.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = search.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::nullopt;
  HttpRequest request;
  request.url = relative.empty() ? full : kRelativeTo + relative;
  if (!relative.empty() && !relative.starts_with('/')) {
    throw Error(ErrorCode::kInvalidArgument,
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a /");
  }
  if (!MaySendTokenTo(request.url)) {
    throw Error(ErrorCode::kInvalidArgument,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI names neither an https:// URL nor an address "
                "of this machine's host; a token is not sent anywhere else");
  }
  // These addresses are of this machine's host, and a proxy would ask its own.
  request.direct = !request.url.starts_with("https://");
  request.connect_timeout = std::chrono::seconds(2);
  request.stall_timeout = std::chrono::seconds(5);
  if (const std::string token = ContainerToken(search.environment); !token.empty()) {
    request.headers.push_back("authorization: " + token);
  }
  const HttpReply reply = AskService(search, request);
  if (reply.succeeded()) {
    if (auto credentials = CredentialsFromJson(reply.body)) return credentials;
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      "the service of AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI gives no credentials (" +
          StatusText(reply) + "); check the task's role");
}

namespace {

constexpr const char* kMetadata = "http://169.254.169.254";
constexpr const char* kRoles = "/latest/meta-data/iam/security-credentials/";

// Outside EC2 nothing answers, so the timeouts are short.
HttpRequest MetadataRequest(const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.direct = true;
  request.connect_timeout = std::chrono::seconds(1);
  request.stall_timeout = std::chrono::seconds(2);
  return request;
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

std::optional<Credentials> CredentialsOfInstance(const CredentialSearch& search) {
  if (SaysYes(search.environment("AWS_EC2_METADATA_DISABLED"))) return std::nullopt;
  const std::string named = search.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  const std::string service =
      named.empty() ? kMetadata
                    : ParseHttpOrigin(named, "AWS_EC2_METADATA_SERVICE_ENDPOINT").origin;

  HttpRequest begin = MetadataRequest(service + "/latest/api/token");
  // Version 2 of the service gives credentials only with a token, which a request that was
  // forwarded for somebody else cannot get.
  begin.method = "PUT";
  begin.headers = {"x-aws-ec2-metadata-token-ttl-seconds: 21600"};
  const HttpReply token = search.send(begin);
  const std::string session = FirstLine(token.body);
  if (!token.succeeded() || session.empty()) return std::nullopt;  // not on EC2

  HttpRequest ask = MetadataRequest(service + kRoles);
  ask.headers = {"x-aws-ec2-metadata-token: " + session};
  const HttpReply roles = search.send(ask);
  const std::string role = FirstLine(roles.body);
  if (!roles.succeeded() || role.empty()) return std::nullopt;  // an instance without a role

  ask.url += PercentEncoded(role, false);
  const HttpReply answer = search.send(ask);
  auto credentials = answer.succeeded() ? CredentialsFromJson(answer.body) : std::nullopt;
  if (!credentials) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "the instance's metadata service returned no credentials for the instance's role (HTTP " +
            std::to_string(answer.status) +
            "); check the instance profile, or set AWS_EC2_METADATA_DISABLED=true");
  }
  return credentials;
}

std::optional<Credentials> CredentialsOfEnvironment(const Environment& environment) {
  Credentials credentials;
  credentials.key_id = environment("AWS_ACCESS_KEY_ID");
  credentials.secret = environment("AWS_SECRET_ACCESS_KEY");
  credentials.token = environment("AWS_SESSION_TOKEN");
  if (credentials.key_id.empty() && credentials.secret.empty()) return std::nullopt;
  if (credentials.key_id.empty() || credentials.secret.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set without the other; set "
                "both, or none");
  }
  return credentials;
}

Credentials FindCredentials(const CredentialSearch& search) {
  const Environment& environment = search.environment;
  if (SaysYes(environment("AWS_NO_SIGN_REQUEST"))) return {};
  if (auto found = CredentialsOfEnvironment(environment)) return *found;
  if (auto found = CredentialsOfWebIdentity(search, environment("AWS_WEB_IDENTITY_TOKEN_FILE"),
                                            environment("AWS_ROLE_ARN"),
                                            environment("AWS_ROLE_SESSION_NAME"))) {
    return *found;
  }
  if (auto found = CredentialsOfProfile(search, true)) return *found;
  if (auto found = CredentialsOfContainer(search)) return *found;
  if (auto found = CredentialsOfInstance(search)) return *found;
  return {};
}

Credentials FindStaticCredentials(const CredentialSearch& search) {
  if (SaysYes(search.environment("AWS_NO_SIGN_REQUEST"))) return {};
  if (auto found = CredentialsOfEnvironment(search.environment)) return *found;
  if (auto found = CredentialsOfProfile(search, false)) return *found;
  return {};
}

}  // namespace sluice
