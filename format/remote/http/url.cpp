// A store's URL has three forms (s3://, gs://, http and https) and may carry secrets: a name and
// password, or a signature in its query. Text shown to people never contains these secrets; an
// error about a URL that cannot be parsed therefore quotes no part that could hold one.
#include "format/remote/http/url.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/ascii.h"

namespace sluice {

namespace {

constexpr std::string_view kUpperDigits = "0123456789ABCDEF";

bool IsUnreserved(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

}  // namespace

std::string PercentEncoded(std::string_view text, bool keep_slash) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c) || (keep_slash && c == '/')) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kUpperDigits[byte >> 4], kUpperDigits[byte & 15]};
    }
  }
  return encoded;
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto byte = ParseNumber<std::uint8_t>(text.substr(i + 1, 2), 16);
    if (!byte || text.size() - i < 3) return std::nullopt;
    decoded += static_cast<char>(*byte);
    i += 2;
  }
  return decoded;
}

namespace {

constexpr std::size_t kMaxUrlBytes = 8192;

[[noreturn]] void RefuseUrl(std::string_view url, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, ShownUrl(url), why);
}

std::string_view WithoutSlashes(std::string_view path) {
  while (path.starts_with('/'))
    path.remove_prefix(1);
  while (path.ends_with('/'))
    path.remove_suffix(1);
  return path;
}

// Escapes text for a URL: spaces, quotes and non-ASCII bytes become %XX; existing escapes stay.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain =
        c > ' ' && c < 127 && std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
    escaped += plain ? std::string(1, c) : PercentEncoded(std::string_view(&c, 1), false);
  }
  return escaped;
}

bool IsBucketName(std::string_view name) {
  return name.size() >= 3 && name.size() <= 255 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
}

StoreUrl ParseBucketUrl(std::string_view url, StoreUrl::Kind kind) {
  StoreUrl parsed;
  parsed.kind = kind;
  const std::string_view rest = url.substr(5);
  const std::size_t slash = rest.find('/');
  parsed.bucket = rest.substr(0, slash);
  if (parsed.bucket.find('@') != std::string::npos) {
    RefuseUrl(
        url,
        "keys do not belong in a URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use "
        "a profile");
  }
  if (!IsBucketName(parsed.bucket)) {
    RefuseUrl(url, "names no bucket: after " + std::string(url.substr(0, 5)) +
                       " comes its name, of letters, digits, '.', '-' and '_'");
  }
  if (slash != std::string_view::npos) parsed.prefix = WithoutSlashes(rest.substr(slash));
  parsed.shown = std::string(url.substr(0, 5)) + parsed.bucket;
  if (!parsed.prefix.empty()) parsed.shown += "/" + parsed.prefix;
  return parsed;
}

StoreUrl ParsePlainUrl(std::string_view url) {
  StoreUrl parsed;
  const std::size_t authority = url.find("://") + 3;
  std::string_view rest = url.substr(authority);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = rest.find_first_of("/?");
  const std::string_view host_part = rest.substr(0, end);
  const std::size_t at = host_part.rfind('@');
  if (at != std::string_view::npos) {
    const auto user = PercentDecoded(host_part.substr(0, at));
    if (!user) RefuseUrl(url, "has user information with a broken %XX");
    parsed.user = *user;
  }
  const std::string_view host = at == std::string_view::npos ? host_part : host_part.substr(at + 1);
  parsed.origin =
      ParseHttpOrigin(std::string(url.substr(0, authority)) + std::string(host), ShownUrl(url))
          .origin;
  if (end != std::string_view::npos) {
    std::string_view path = rest.substr(end);
    const std::size_t question = path.find('?');
    if (question != std::string_view::npos) {
      parsed.query = Escaped(path.substr(question + 1));
      path = path.substr(0, question);
    }
    parsed.prefix = Escaped(WithoutSlashes(path));
  }
  parsed.shown = ShownUrl(url);
  return parsed;
}

}  // namespace

HttpOrigin ParseHttpOrigin(std::string_view url, std::string_view what) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, std::string(what) + ": " + why);
  };
  const bool tls = url.starts_with("https://");
  if (!tls && !url.starts_with("http://"))
    refuse("is not a URL that begins with http:// or https://");
  if (url.size() > kMaxUrlBytes) refuse("is longer than 8192 bytes");
  std::string_view rest = url.substr(tls ? 8 : 7);
  const std::size_t end = rest.find_first_of("/?#");
  std::string host = LowerCase(rest.substr(0, end));
  if (host.find('@') != std::string::npos) refuse("it must not have a name and password");
  for (const char c : host) {
    if (c <= ' ' || c == '\\' || c == '"' || c == '%' || c == 127)
      refuse("its host has a character that no host's name has");
  }
  // The port follows the last colon outside the brackets of an IPv6 address.
  const std::size_t bracket = host.rfind(']');
  if (host.find_first_of("[]") != std::string::npos) {
    const bool encloses = host.front() == '[' && host.find_first_of("[]", 1) == bracket &&
                          bracket > 1 && (bracket + 1 == host.size() || host[bracket + 1] == ':');
    if (!encloses) refuse("its host has a bracket that encloses no address");
  }
  const std::size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) {
    const std::string port = host.substr(colon + 1);
    const bool digits = !port.empty() && port.size() <= 5 &&
                        port.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoi(port) < 1 || std::stoi(port) > 65535)
      refuse("its port is not a number from 1 to 65535");
    if (std::stoi(port) == (tls ? 443 : 80)) host.resize(colon);
  }
  if (host.empty() || host.front() == ':') refuse("names no host");
  HttpOrigin origin;
  origin.host = host;
  origin.origin = (tls ? "https://" : "http://") + host;
  if (end != std::string_view::npos) origin.rest = rest.substr(end);
  return origin;
}

StoreUrl ParseStoreUrl(std::string_view url) {
  if (url.size() > kMaxUrlBytes) RefuseUrl(url.substr(0, 60), "is longer than 8192 bytes");
  if (url.find('\0') != std::string_view::npos) RefuseUrl(url, "has a zero byte in it");
  if (url.starts_with("s3://")) return ParseBucketUrl(url, StoreUrl::Kind::kS3);
  if (url.starts_with("gs://")) return ParseBucketUrl(url, StoreUrl::Kind::kGoogle);
  if (url.starts_with("http://") || url.starts_with("https://")) return ParsePlainUrl(url);
  if (url.find("://") == std::string_view::npos) {
    RefuseUrl(
        url,
        "has one slash after its scheme. Python's pathlib.Path drops the other: pass a URL as "
        "a string. To name a folder that is called so, give its absolute path");
  }
  RefuseUrl(url,
            "is not a URL that Sluice reads or writes: these begin with s3://, gs://, http:// or "
            "https://, in small letters. Give a folder of this machine as a path; one whose name "
            "looks like a URL begins with ./");
}

}  // namespace sluice
