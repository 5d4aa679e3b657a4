// A signature is a chain of keyed digests over the request in a canonical form: method, path,
// query, headers and the content's digest, each encoded in one exact way. The key is derived from
// the secret, the day, the region and the service.
// The server makes the same text of the request that it receives, and compares the digests: a
// single byte that is encoded differently makes the signature wrong. The time of the request is
// used twice: in full in the text that is signed, and as a day in the key.
#include "format/remote/server/sigv4.h"

#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <sluice/error.h>

#include "format/remote/http/url.h"

namespace sluice {

namespace {

const unsigned char* Unsigned(Bytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Sha256Digest Sha256(Bytes content) {
  Sha256Digest digest;
  unsigned size = 0;
  if (EVP_Digest(content.data(), content.size(), reinterpret_cast<unsigned char*>(digest.data()),
                 &size, EVP_sha256(), nullptr) != 1) {
    throw Error(ErrorCode::kUnsupported,
                "OpenSSL gives no SHA-256 here; without it no request can be signed");
  }
  return digest;
}

Sha256Digest HmacSha256(Bytes key, Bytes content) {
  Sha256Digest digest;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Unsigned(content),
           content.size(), reinterpret_cast<unsigned char*>(digest.data()), &size) == nullptr) {
    throw Error(ErrorCode::kUnsupported,
                "OpenSSL gives no HMAC here; without it no request can be signed");
  }
  return digest;
}

std::string CanonicalQuery(const std::map<std::string, std::string>& query) {
  // Sorted by the encoded names. The plain names would be in another order where a byte is escaped.
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
  // Sorted by name, as the signature requires: the headers are in a std::map with lower-case names.
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
    // Each digest is the key of the next one, so that a key made for one day, region and service is
    // of no use for another.
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
