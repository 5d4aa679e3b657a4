#include "format/remote/sigv4.h"

#include <array>

#include "format/remote/percent.h"
#include "format/remote/sha256.h"

namespace sluice {

std::string CanonicalQuery(const std::map<std::string, std::string>& query) {
  // Sorted by the encoded names: a map of the plain ones is in another order where a byte is
  // escaped.
  std::map<std::string, std::string> encoded;
  for (const auto& [name, value] : query) {
    encoded[PercentEncoded(name, false)] = PercentEncoded(value, false);
  }
  std::string text;
  for (const auto& [name, value] : encoded) {
    text += (text.empty() ? "" : "&") + name + "=" + value;
  }
  return text;
}

std::string Authorization(const SignedRequest& request, const Credentials& credentials,
                          const std::string& region, const std::string& service,
                          const std::string& amz_date) {
  std::string headers, names;
  for (const auto& [name, value] : request.headers) {
    headers += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = request.method + "\n" + PercentEncoded(request.path, true) + "\n" +
                                CanonicalQuery(request.query) + "\n" + headers + "\n" + names +
                                "\n" + request.payload_sha256;
  const std::string day = amz_date.substr(0, 8);
  const std::string scope = day + "/" + region + "/" + service + "/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + amz_date + "\n" + scope + "\n" + HexOf(Sha256(AsBytes(canonical)));
  Sha256Digest key = HmacSha256(AsBytes("AWS4" + credentials.secret), AsBytes(day));
  for (const std::string_view part :
       {std::string_view(region), std::string_view(service), std::string_view("aws4_request")}) {
    key = HmacSha256(key, AsBytes(part));
  }
  return "AWS4-HMAC-SHA256 Credential=" + credentials.key_id + "/" + scope +
         ", SignedHeaders=" + names + ", Signature=" + HexOf(HmacSha256(key, AsBytes(to_sign)));
}

std::string AmzDate(std::time_t seconds) {
  std::tm time{};
  gmtime_r(&seconds, &time);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &time);
  return {text.data(), size};
}

}  // namespace sluice
