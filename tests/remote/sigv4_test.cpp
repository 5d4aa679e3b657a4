// Signatures, compared with those that Amazon publishes: the "aws-sig-v4-test-suite" of its general
// reference, and the examples of "Signature Calculations for the Authorization Header" in the S3
// API reference.
#include "format/remote/server/sigv4.h"

#include "tests/catch.h"

namespace sluice {

namespace {

const Credentials kSuiteKeys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", {}};
const Credentials kS3Keys{
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", {}};
constexpr const char* kEmptySha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string SignatureIn(const std::string& authorization) {
  return authorization.substr(authorization.find("Signature=") + 10);
}

// The suite's day, host and service.
std::string SuiteSignature(const std::string& method, const std::string& path,
                           const std::map<std::string, std::string>& query) {
  const std::string date = "20150830T123600Z";
  const SignedRequest request{
      method, path, query, {{"host", "example.amazonaws.com"}, {"x-amz-date", date}}, kEmptySha256};
  return SignatureIn(Authorization(request, kSuiteKeys, "us-east-1", "service", date));
}

std::string S3Signature(const std::string& method, const std::string& path,
                        const std::map<std::string, std::string>& query,
                        std::map<std::string, std::string> headers, const std::string& sha256) {
  const std::string date = "20130524T000000Z";
  headers["host"] = "examplebucket.s3.amazonaws.com";
  headers["x-amz-date"] = date;
  headers["x-amz-content-sha256"] = sha256;
  return SignatureIn(
      Authorization({method, path, query, headers, sha256}, kS3Keys, "us-east-1", "s3", date));
}

}  // namespace

TEST_CASE("Signatures are those of Amazon's test suite") {
  CHECK(SuiteSignature("GET", "/", {}) ==
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  CHECK(SuiteSignature("POST", "/", {}) ==
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  CHECK(SuiteSignature("GET", "/", {{"Param2", "value2"}, {"Param1", "value1"}}) ==
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  CHECK(SuiteSignature("GET", "/", {{"Param1", "value1"}}) ==
        "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
  CHECK(SuiteSignature("GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                       {}) == "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
  CHECK(SuiteSignature("GET", "/\xE1\x88\xB4", {}) ==
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  const std::string unreserved =
      "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  CHECK(SuiteSignature("GET", "/", {{unreserved, unreserved}}) ==
        "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197");
}

TEST_CASE("Signatures are those of the S3 API reference's examples") {
  CHECK(S3Signature("GET", "/test.txt", {}, {{"range", "bytes=0-9"}}, kEmptySha256) ==
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(S3Signature("PUT", "/test$file.text", {},
                    {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                    "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072") ==
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  CHECK(S3Signature("GET", "/", {{"lifecycle", ""}}, {}, kEmptySha256) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(S3Signature("GET", "/", {{"max-keys", "2"}, {"prefix", "J"}}, {}, kEmptySha256) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("A query is sorted by its encoded names") {
  // '-' sorts before '/', but "%2F" before "-": by RFC 3986 a slash is escaped in a query.
  CHECK(CanonicalQuery({{"a-b", "1"}, {"a/b", "2"}, {"aab", "x y+z"}}) ==
        "a%2Fb=2&a-b=1&aab=x%20y%2Bz");
}

TEST_CASE("The time in a signature is UTC") {
  CHECK(AmzDate(1440938160) == "20150830T123600Z");
}

}  // namespace sluice
