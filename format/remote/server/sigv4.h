// AWS's Signature Version 4, in the Authorization header, and the digests that it consists of.
//
// The reference: "Signature Version 4 signing process" in AWS's general reference, and
// "Authenticating Requests: Using the Authorization Header" of the S3 API.
#pragma once

#include <array>
#include <cstddef>
#include <ctime>
#include <map>
#include <string>

#include "format/disk/bytes.h"
#include "format/remote/credentials/credentials.h"

namespace sluice {

using Sha256Digest = std::array<std::byte, 32>;

Sha256Digest Sha256(Bytes content);
Sha256Digest HmacSha256(Bytes key, Bytes content);

struct SignedRequest {
  std::string method;
  std::string path;                          // any bytes, decoded; begins with /
  std::map<std::string, std::string> query;  // decoded
  // Lower-case names; all headers are signed, including `host`. Values have no spaces at either
  // end.
  std::map<std::string, std::string> headers;
  std::string payload_sha256;  // hexadecimal, or UNSIGNED-PAYLOAD
};

// The query in the form that is signed, which is also its form in the URL.
std::string CanonicalQuery(const std::map<std::string, std::string>& query);

// The value of the Authorization header. The request must already have all headers to sign,
// including x-amz-date and x-amz-security-token.
std::string Authorization(const SignedRequest& request, const Credentials& credentials,
                          const std::string& region, const std::string& service,
                          const std::string& amz_date);

// "20150830T123600Z"
std::string AmzDate(std::time_t seconds);

}  // namespace sluice
