// Credentials that expire during use: they are renewed in time, or when the server says so.
#include <atomic>
#include <thread>

#include "format/remote/credentials/credentials.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/reading.h"

namespace sluice::test {

namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::system_clock;

}  // namespace

TEST_CASE("Credentials that do not expire are fetched once") {
  std::atomic<int> fetched = 0;
  RenewedCredentials credentials([&] {
    ++fetched;
    return Credentials{"A", "S", "", std::nullopt};
  });
  for (int i = 0; i < 3; ++i)
    CHECK(credentials.Get().key_id == "A");
  CHECK(credentials.TryGet([] {})->key_id == "A");
  CHECK(fetched == 1);
}

TEST_CASE("Credentials are renewed in the background before they expire") {
  std::atomic<int> fetched = 0;
  RenewedCredentials credentials([&] {
    // The first live for two seconds, and are renewed when a fifth of this time is left.
    const bool first = fetched++ == 0;
    return Credentials{first ? "old" : "new", "S", "T",
                       system_clock::now() + (first ? seconds(2) : seconds(3600))};
  });
  CHECK(credentials.Get().key_id == "old");
  while (credentials.Get().key_id == "old")
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(credentials.Get().key_id == "new");
  CHECK(fetched == 2);
}

TEST_CASE("A caller that may not wait for credentials is called back when they arrive") {
  std::atomic<bool> open = false, called = false;
  RenewedCredentials credentials([&] {
    while (!open)
      std::this_thread::yield();
    return Credentials{"A", "S", "", std::nullopt};
  });
  CHECK_FALSE(credentials.TryGet([&] { called = true; }));
  CHECK_FALSE(called);
  open = true;
  while (!called)
    std::this_thread::yield();
  CHECK(credentials.Get().key_id == "A");
}

TEST_CASE("Callers that wait for credentials, and those that do not, get the source's error") {
  std::atomic<bool> called = false;
  RenewedCredentials credentials(
      []() -> Credentials { throw Error(ErrorCode::kInvalidArgument, "no good"); });
  CHECK(CodeOf([&] { credentials.Get(); }) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { credentials.TryGet([&] { called = true; }); }) == ErrorCode::kInvalidArgument);
  CHECK_FALSE(called);
}

TEST_CASE("Credentials that the server calls expired are fetched again, once for all their users") {
  std::atomic<int> fetched = 0;
  RenewedCredentials credentials([&] {
    return Credentials{"A" + std::to_string(fetched++), "S", "T", std::nullopt};
  });
  const Credentials first = credentials.Get();
  credentials.Expired(first);
  CHECK(credentials.Get().key_id == "A1");
  credentials.Expired(first);
  CHECK(credentials.Get().key_id == "A1");
}

TEST_CASE("Reads continue when the credentials expire meanwhile") {
  std::atomic<int> generation = 0;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.path == "/credentials") {
      WebAnswer answer;
      answer.body = R"({"AccessKeyId":"A","SecretAccessKey":"S","Token":"token-)" +
                    std::to_string(generation) + R"(","Expiration":"2100-01-01T00:00:00Z"})";
      return answer;
    }
    const bool good =
        request.headers.at("x-amz-security-token") == "token-" + std::to_string(generation);
    if (request.number % 20 == 19) ++generation;
    if (good) return std::nullopt;
    WebAnswer answer = S3ErrorAnswer(request.method == "HEAD" ? 403 : 400, "ExpiredToken");
    return answer;
  });
  const std::string content = Pattern(100'000);
  server.Set("o", content);
  auto settings = TestSettings(
      {{"AWS_ENDPOINT_URL", server.web().origin()},
       {"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.web().origin() + "/credentials"}});
  const auto store = OpenStoreWith("s3://bkt", settings);
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(ReadRange(*store, "o", i * 1000, 1000) == content.substr(i * 1000, 1000));
    if (i % 10 == 0) CHECK(store->Head("o").bytes == content.size());
  }
  CHECK(generation >= 4);
}

TEST_CASE("Credentials that stay expired end a read with an error that says so") {
  BucketServer server(
      [](const WebRequest&) { return std::optional(S3ErrorAnswer(400, "ExpiredToken")); });
  auto variables = server.Variables();
  variables["AWS_SESSION_TOKEN"] = "old";
  const auto store = OpenStoreWith("s3://bkt", TestSettings(variables));
  const auto error = ErrorOf([&] { ReadRange(*store, "o", 0, 1); });
  REQUIRE(error);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("AWS_SESSION_TOKEN") &&
                                !Catch::Matchers::ContainsSubstring("old)"));
  CHECK(server.web().requests().size() == 2);
}

}  // namespace sluice::test
