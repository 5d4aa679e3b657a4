#include "format/remote/credentials/answers.h"

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include "format/disk/json_depth.h"
#include "format/remote/xml.h"

namespace sluice {

namespace {

// Characters that no header may carry would end up in one.
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

// The digits at [first, first + count), or -1.
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
  // "Never" is the year 9999 for some, which the clock's nanoseconds do not reach.
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
  const std::time_t seconds = timegm(&time) - zone_minutes * 60;
  return std::chrono::system_clock::from_time_t(seconds);
}

std::optional<Credentials> CredentialsFromJson(std::string_view json) {
  constexpr unsigned kDeepest = 8;
  if (json.size() > kMostCredentialBytes || NestsDeeperThan(json, kDeepest)) return std::nullopt;
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
  if (xml.size() > kMostCredentialBytes) return std::nullopt;
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

}  // namespace sluice
