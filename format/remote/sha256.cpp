#include "format/remote/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <sluice/error.h>

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

std::string HexOf(const Sha256Digest& digest) {
  std::string hex;
  for (const std::byte byte : digest) {
    const auto value = static_cast<unsigned>(byte);
    hex += {"0123456789abcdef"[value >> 4], "0123456789abcdef"[value & 15]};
  }
  return hex;
}

}  // namespace sluice
