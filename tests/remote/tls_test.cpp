// Encrypted connections to a server with a certificate of the tests' own authority.
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/certificates.h"
#include "tests/remote/reading.h"
#include "tests/temporary_folder.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("A server is read over TLS if the environment names its authority") {
  const TemporaryFolder folder;
  const Certificate certificate = MakeCertificate(folder.path(), -1, 10);
  BucketServer server(nullptr, &certificate);
  const std::string content = Pattern(500'000);
  server.Set("o", content);
  for (const char* variable : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    auto variables = server.Variables();
    variables[variable] = certificate.authority_file;
    for (const std::string& url : {std::string("s3://bkt"), server.plain_url()}) {
      const auto store = OpenStoreWith(url, TestSettings(variables));
      CHECK(ReadRange(*store, "o", 1000, 300'000) == content.substr(1000, 300'000));
    }
  }
}

TEST_CASE("An expired certificate, or one of an unknown authority, is refused at once") {
  const TemporaryFolder folder;
  const Certificate expired = MakeCertificate(folder.path(), -10, -1);
  BucketServer server(nullptr, &expired);
  server.Set("o", "content");
  auto variables = server.Variables();
  auto error = ErrorOf([&] { OpenStoreWith("s3://bkt", TestSettings(variables))->Get("o", 10); });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("certificate") && ContainsSubstring("AWS_CA_BUNDLE"));
  variables["AWS_CA_BUNDLE"] = expired.authority_file;
  const auto store = OpenStoreWith("s3://bkt", TestSettings(variables));
  error = ErrorOf([&] { ReadRange(*store, "o", 0, 1); });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("expired"));
  CHECK(store->counts().repeated == 0);
}

TEST_CASE("The error for an https URL of a server without TLS says so") {
  // An authority is named, since a bare system has none.
  const TemporaryFolder folder;
  const std::string authority = MakeCertificate(folder.path(), -1, 10).authority_file;
  BucketServer server;
  std::string url = server.plain_url();
  url.insert(4, "s");
  const auto error = ErrorOf([&] {
    OpenStoreWith(url, TestSettings({{"AWS_CA_BUNDLE", authority}}))->Get("o", 10);
  });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("speaks TLS"));
}

TEST_CASE("A missing file of authorities is named in the error") {
  const TemporaryFolder folder;
  const Certificate certificate = MakeCertificate(folder.path(), -1, 10);
  BucketServer server(nullptr, &certificate);
  auto variables = server.Variables();
  variables["AWS_CA_BUNDLE"] = "/nowhere/ca.pem";
  const auto error =
      ErrorOf([&] { OpenStoreWith("s3://bkt", TestSettings(variables))->Get("o", 10); });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("/nowhere/ca.pem"));
}

}  // namespace sluice::test
