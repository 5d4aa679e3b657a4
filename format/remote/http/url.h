// Parsing of URLs of stores and of HTTP, and the percent-encoding of RFC 3986.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sluice/shown_text.h>

namespace sluice {

// Encodes all bytes except letters, digits and - _ . ~ as %XX. With `keep_slash` (for a path), /
// stays, too.
std::string PercentEncoded(std::string_view text, bool keep_slash);

// The reverse. nullopt if a % is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecoded(std::string_view text);

struct StoreUrl {
  enum class Kind { kS3, kGoogle, kPlain };

  Kind kind = Kind::kPlain;
  std::string shown;   // as the user wrote it, without user information, query or trailing slash
  std::string bucket;  // kS3, kGoogle
  // The key prefix below the bucket (any bytes), or the percent-encoded path of a plain URL.
  // Without a slash at either end.
  std::string prefix;
  // Only for kPlain:
  std::string origin;  // "https://host:8443", without the scheme's own port
  std::string query;   // without the question mark; part of every request
  std::string user;    // "name:password", decoded; part of every request to that origin
};

// Throws Error(kInvalidArgument), whose message has neither user information nor query.
StoreUrl ParseStoreUrl(std::string_view url);

// "http://host:80/path?query", split into the server and the rest.
struct HttpOrigin {
  std::string origin;  // "http://host": lower case, without the scheme's own port
  std::string host;    // "host" or "host:8080": the value of the Host header
  std::string rest;    // "/path?query", or empty
};
// Throws Error(kInvalidArgument) if the text is not an http or https URL, or has user information.
// The message begins with `what`, such as "AWS_ENDPOINT_URL".
HttpOrigin ParseHttpOrigin(std::string_view url, std::string_view what);

}  // namespace sluice
