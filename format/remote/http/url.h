// URLs of stores and of HTTP, taken apart, and the percent-encoding of RFC 3986.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sluice/shown_text.h>

namespace sluice {

// All bytes but letters, digits, - _ . ~ as %XX. With `keep_slash` a path: / stays.
std::string PercentEncoded(std::string_view text, bool keep_slash);

// The reverse. Nothing if a % is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecoded(std::string_view text);

struct StoreUrl {
  enum class Kind { kS3, kGoogle, kPlain };

  Kind kind = Kind::kPlain;
  std::string shown;   // as the user wrote it, without user information, query or trailing slash
  std::string bucket;  // kS3, kGoogle
  // Below the bucket, of any bytes; or the path of a plain URL, percent-encoded. Without a slash at
  // either end.
  std::string prefix;
  // kPlain:
  std::string origin;  // "https://host:8443", without the scheme's own port
  std::string query;   // without the question mark; goes with every request
  std::string user;    // "name:password", decoded; goes with every request to that origin
};

// Throws Error(kInvalidArgument), which names no user information and no query.
StoreUrl ParseStoreUrl(std::string_view url);

// The parts of "http://host:80/path?query" that a connection is made to.
struct HttpOrigin {
  std::string origin;  // "http://host": lower case, without the scheme's own port
  std::string host;    // "host" or "host:8080": what the Host header says
  std::string rest;    // "/path?query", or empty
};
// Throws Error(kInvalidArgument) if it is not a URL of http or https, or has user information.
// `what` begins the message: "AWS_ENDPOINT_URL".
HttpOrigin ParseHttpOrigin(std::string_view url, std::string_view what);

}  // namespace sluice
