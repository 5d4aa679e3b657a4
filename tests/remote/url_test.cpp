// URLs of object stores: parsing, showing, encoding.
#include "format/remote/http/url.h"

#include <sluice/error.h>

#include "format/remote/http/url.h"
#include "format/remote/object_store.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"

namespace sluice {

TEST_CASE("URLs of stores and paths are distinguished") {
  for (const char* url : {"s3://b/p", "gs://b", "http://h/p", "https://h"})
    CHECK(IsStoreUrl(url));
  for (const char* path :
       {"", "data", "/data", "az:/b", "s3:b", "./s3:/b", "/s3:/b", "s3", "./http://x", "://b",
        "a b://c", "data/s3://b", "3s://b", "\xc3\xa9://b"})
    CHECK_FALSE(IsStoreUrl(path));
}

TEST_CASE("A URL of an unsupported scheme is an error that names the supported ones") {
  for (const char* url :
       {"S3://b", "HTTP://h/p", "az://b", "ftp://h/p", "file:///data", "a+b.c-1://x"}) {
    CAPTURE(url);
    CHECK(IsStoreUrl(url));
    const auto error = test::ErrorOf([&] { OpenStore(url); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kInvalidArgument);
    CHECK_THAT(error->sentence(), Catch::Matchers::ContainsSubstring(
                                      "these begin with s3://, gs://, http:// or https://"));
  }
}

TEST_CASE("A URL with one slash, as pathlib.Path makes it, is refused without showing a secret") {
  for (const char* url : {"s3:/b/p", "gs:/b", "http:/h/p", "https:/me:secret@h/p?sig=secret"}) {
    CAPTURE(url);
    CHECK(IsStoreUrl(url));
    const auto error = test::ErrorOf([&] { OpenStore(url); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kInvalidArgument);
    CHECK_THAT(error->sentence(), Catch::Matchers::ContainsSubstring("pass a URL as a string"));
    CHECK_THAT(error->what(), !Catch::Matchers::ContainsSubstring("secret"));
  }
}

TEST_CASE("A bucket's URL has its name and a prefix of any bytes") {
  const StoreUrl url = ParseStoreUrl("s3://my-bucket.x/photos/train a=b?c#d%20/");
  CHECK(url.bucket == "my-bucket.x");
  CHECK(url.prefix == "photos/train a=b?c#d%20");
  CHECK(url.shown == "s3://my-bucket.x/photos/train a=b?c#d%20");
  CHECK(ParseStoreUrl("gs://abc").prefix == "");
  CHECK(ParseStoreUrl("s3://abc//").shown == "s3://abc");
}

TEST_CASE("A plain URL is shown without user information and query") {
  const StoreUrl url = ParseStoreUrl("https://me:pass%40word@Host:443/a%20b/c d/?sig=secret#top");
  CHECK(url.origin == "https://host");
  CHECK(url.prefix == "a%20b/c%20d");
  CHECK(url.query == "sig=secret");
  CHECK(url.user == "me:pass@word");
  CHECK(url.shown == "https://Host:443/a%20b/c d");
}

TEST_CASE("Invalid URLs of stores are refused without showing a secret") {
  for (const char* url :
       {"s3://", "s3:///key", "s3://ab", "s3://KEY:secret@bucket/x", "s3://a b c/x", "https://",
        "https:///path", "https://me:secret@/x", "http://host:99999/", "http://host:x/",
        "http://ho st/", "http://[", "http://[::1/", "http://h]/", "http://[::1]x/",
        "https://me:sec/ret@host/x", "https://u%zz:secret@h/", "ftp://me:secret@host/x"}) {
    INFO(url);
    const auto error = test::ErrorOf([&] { ParseStoreUrl(url); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kInvalidArgument);
    CHECK(std::string(error->what()).find("secret") == std::string::npos);
  }
}

TEST_CASE("An endpoint's port is part of its host unless it is the scheme's own") {
  CHECK(ParseHttpOrigin("http://h:80/x", "u").host == "h");
  CHECK(ParseHttpOrigin("https://h:80", "u").host == "h:80");
  CHECK(ParseHttpOrigin("http://[::1]:9000/base/", "u").host == "[::1]:9000");
  CHECK(ParseHttpOrigin("http://[::1]:9000/base/", "u").rest == "/base/");
  CHECK(ParseHttpOrigin("http://[::1]", "u").origin == "http://[::1]");
}

TEST_CASE(
    "Percent-encoding keeps the characters that RFC 3986 calls unreserved, and decodes back") {
  CHECK(PercentEncoded("a-b_c.d~e/f g+h=\xC3\xA9", true) == "a-b_c.d~e/f%20g%2Bh%3D%C3%A9");
  CHECK(PercentEncoded("a/b", false) == "a%2Fb");
  CHECK(PercentDecoded("a%2fb%20+").value() == "a/b +");
  CHECK_FALSE(PercentDecoded("%").has_value());
  CHECK_FALSE(PercentDecoded("%2").has_value());
  CHECK_FALSE(PercentDecoded("%2x").has_value());
}

}  // namespace sluice
