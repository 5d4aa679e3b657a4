// Errors of a store say what to do, and show no secrets.
#include <stdexcept>

#include "format/disk/system_error.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/reading.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// The error of the call. Checks that it says that data is lost only if the object is missing.
template <class Call>
Error ErrorWithoutLoss(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(SaysDataIsLost(error) == (error.code() == ErrorCode::kNotFound));
    return error;
  }
  FAIL("no error");
  throw std::logic_error("not reached");
}

// The message of reading an object from a server that always gives this answer.
std::string MessageFor(const WebAnswer& answer, std::map<std::string, std::string> more = {}) {
  BucketServer server([&](const WebRequest&) { return std::optional(answer); });
  auto variables = server.Variables();
  for (const auto& [name, value] : more)
    variables[name] = value;
  const auto store = OpenStoreWith("s3://bkt/set", TestSettings(variables));
  const Error error = ErrorWithoutLoss([&] { store->Get("manifest.json", 100); });
  CHECK(error.file() == "s3://bkt/set/manifest.json");
  const auto by_range = ErrorOf([&] { ReadRange(*store, "manifest.json", 0, 10); });
  REQUIRE(by_range);
  CHECK(by_range->code() == error.code());
  CHECK(by_range->sentence() == error.sentence());
  return error.what();
}

}  // namespace

TEST_CASE("Refusals of S3 say which permission, key or clock to check") {
  CHECK_THAT(MessageFor(S3ErrorAnswer(403, "AccessDenied")),
             ContainsSubstring("s3:GetObject") && ContainsSubstring("bkt/set/manifest.json"));
  CHECK_THAT(MessageFor(S3ErrorAnswer(403, "AccessDenied"), {{"AWS_NO_SIGN_REQUEST", "true"}}),
             ContainsSubstring("no credentials were found"));
  CHECK_THAT(MessageFor(S3ErrorAnswer(403, "InvalidAccessKeyId")),
             ContainsSubstring("AWS_ACCESS_KEY_ID"));
  CHECK_THAT(MessageFor(S3ErrorAnswer(403, "SignatureDoesNotMatch")),
             ContainsSubstring("AWS_SECRET_ACCESS_KEY"));
  CHECK_THAT(MessageFor(S3ErrorAnswer(400, "ExpiredToken")), ContainsSubstring("have expired"));
  WebAnswer skewed = S3ErrorAnswer(403, "RequestTimeTooSkewed");
  skewed.headers["Date"] = "Sun, 22 Nov 2015 10:00:00 GMT";
  CHECK_THAT(MessageFor(skewed),
             ContainsSubstring("it is ahead") && ContainsSubstring("set the clock"));
}

TEST_CASE(
    "A missing bucket, a missing object and a server that does not speak S3 give different "
    "errors") {
  CHECK_THAT(MessageFor(S3ErrorAnswer(404, "NoSuchBucket")),
             ContainsSubstring("there is no bucket 'bkt'"));
  CHECK_THAT(MessageFor(S3ErrorAnswer(404, "NoSuchKey")),
             ContainsSubstring("there is no such object"));
  WebAnswer page;
  page.status = 404;
  page.body = "<html><body>Not here<br></body></html>";
  CHECK_THAT(MessageFor(page), ContainsSubstring("does not answer as S3 does") &&
                                   ContainsSubstring("AWS_ENDPOINT_URL"));
  page.status = 400;
  CHECK_THAT(MessageFor(page), ContainsSubstring("AWS_ENDPOINT_URL"));
}

TEST_CASE("A signed request is not redirected to another host") {
  BucketServer other;
  other.Set("set/manifest.json", "{}");
  WebAnswer answer;
  answer.status = 307;
  answer.headers["Location"] = other.plain_url() + "/set/manifest.json?X-Amz-Signature=secret";
  const std::string message = MessageFor(answer);
  CHECK_THAT(message, ContainsSubstring("AWS_ENDPOINT_URL") && !ContainsSubstring("secret"));
  CHECK(other.web().requests().empty());
}

TEST_CASE("Secrets that a server repeats are not shown in the error") {
  WebAnswer answer = S3ErrorAnswer(400, "Odd", "");
  answer.body =
      "<Error><Code>Odd</Code><Message>your wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY and "
      "tok-en are no good</Message></Error>";
  CHECK_THAT(MessageFor(answer, {{"AWS_SESSION_TOKEN", "tok-en"}}),
             ContainsSubstring("your *** and ***"));
  answer.body = "<Error><Code>Odd</Code><Message>\x1b[2J</Message></Error>";  // not XML
  CHECK_THAT(MessageFor(answer), !ContainsSubstring("\x1b"));
}

TEST_CASE("If a server repeats a request, neither key nor signature is shown, whole or truncated") {
  for (const std::size_t most : {std::size_t{70}, std::size_t{250}, std::size_t{10'000}}) {
    std::string authorization;
    BucketServer server([&](const WebRequest& request) {
      authorization = request.headers.at("authorization");
      WebAnswer answer = S3ErrorAnswer(400, "Odd", "");
      std::string said = "authorization: " + authorization;
      said.resize(std::min(said.size(), most));
      answer.body = "<Error><Code>Odd</Code><Message>" + said + "</Message></Error>";
      return std::optional(answer);
    });
    auto variables = server.Variables();
    const auto store = OpenStoreWith("s3://bkt", TestSettings(variables));
    const auto error = ErrorOf([&] { store->Get("a", 100); });
    REQUIRE(error);
    CHECK_THAT(error->what(), ContainsSubstring("Credential=***") &&
                                  !ContainsSubstring(variables.at("AWS_ACCESS_KEY_ID")));
    const std::string name = "Signature=";
    const std::string signature = authorization.substr(authorization.find(name) + name.size());
    CHECK(signature.size() == 64);
    CHECK_THAT(error->what(), !ContainsSubstring(signature.substr(0, 8)));
  }
}

TEST_CASE("Requests that cannot succeed are not repeated") {
  WebAnswer bare;
  bare.bare = true;
  bare.body = "manifest";
  WebAnswer long_head;
  for (int i = 0; i < 8; ++i)
    long_head.headers["X-" + std::to_string(i)] = std::string(60'000, 'x');
  WebAnswer long_header;
  long_header.headers["X"] = std::string(200'000, 'x');
  for (const WebAnswer& answer : {bare, long_head, long_header}) {
    BucketServer server([&](const WebRequest&) { return std::optional(answer); });
    StoreSettings settings = TestSettings(server.Variables());
    settings.retries.timeout = settings.retries.first_contact = std::chrono::hours(1);
    for (const std::string& url : {std::string("s3://bkt"), server.plain_url()}) {
      const auto store = OpenStoreWith(url, settings);
      const Error error = ErrorWithoutLoss([&] { store->Get("a", 100); });
      CHECK_THAT(error.what(), ContainsSubstring("does not answer in HTTP/1.1"));
      CHECK(CodeOf([&] { ReadRange(*store, "a", 0, 1); }) == ErrorCode::kIo);
    }
    CHECK(server.web().requests().size() == 4);
  }
}

TEST_CASE("A plain server's refusals say what to do, and never show the URL's secrets") {
  for (const int status : {401, 403, 404, 400, 302}) {
    INFO(status);
    BucketServer server([&](const WebRequest&) {
      WebAnswer answer;
      answer.status = status;
      answer.headers["Location"] = "elsewhere?sig=secret";
      return std::optional(answer);
    });
    std::string url = server.plain_url() + "/d?sig=secret";
    url.insert(url.find("//") + 2, "me:secret@");
    const auto error = ErrorOf([&] { OpenStoreWith(url, TestSettings({}))->Get("a", 1); });
    REQUIRE(error);
    CHECK(error->code() == (status == 404 ? ErrorCode::kNotFound : ErrorCode::kIo));
    CHECK_THAT(error->what(), ContainsSubstring("/bkt/d/a") && !ContainsSubstring("secret"));
  }
}

TEST_CASE("An unknown host name and a port without a server are reported soon") {
  // RFC 6761: names under .invalid never resolve.
  StoreSettings settings = TestSettings({{"AWS_ENDPOINT_URL", "http://nowhere.invalid"}});
  auto error = ErrorOf([&] { OpenStoreWith("s3://bkt", settings)->Get("a", 1); });
  REQUIRE(error);
  CHECK_THAT(error->what(),
             ContainsSubstring("nowhere.invalid") && ContainsSubstring("does not resolve"));

  std::string url;
  {
    const BucketServer closed;
    url = const_cast<BucketServer&>(closed).plain_url();
  }
  const auto store = OpenStoreWith(url, TestSettings({}));
  error = ErrorOf([&] { store->Get("a", 1); });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("cannot be reached") && ContainsSubstring("port"));
  CHECK(CodeOf([&] { ReadRange(*store, "a", 0, 1); }) == ErrorCode::kIo);
}

TEST_CASE("Without a secret for the access key nothing is sent") {
  BucketServer server;
  auto variables = server.Variables();
  variables.erase("AWS_SECRET_ACCESS_KEY");
  const auto store = OpenStoreWith("s3://bkt", TestSettings(variables));
  CHECK(CodeOf([&] { store->Get("a", 1); }) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { ReadRange(*store, "a", 0, 1); }) == ErrorCode::kInvalidArgument);
  CHECK(server.web().requests().empty());
}

TEST_CASE("A missing profile or endpoint is reported when the store is opened") {
  CHECK(CodeOf([] {
          OpenStoreWith("s3://bkt", TestSettings({{"AWS_PROFILE", "none"}}));
        }) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([] {
          OpenStoreWith("s3://bkt", TestSettings({{"AWS_ENDPOINT_URL", "localhost:9000"}}));
        }) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([] {
          OpenStoreWith("s3://bkt", TestSettings({{"AWS_REGION", "eu west"}}));
        }) == ErrorCode::kInvalidArgument);
}

}  // namespace sluice::test
