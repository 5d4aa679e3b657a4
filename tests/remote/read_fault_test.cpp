// Reads from a server that fails: cut, late, slow, wrong and missing answers.
#include <atomic>
#include <set>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/reading.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("A body that is cut is continued from the byte where it ended") {
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    WebAnswer answer = self->Serve(request);
    answer.cut_after = 3000;
    return answer;
  });
  self = &server;
  const std::string content = Pattern(10'000);
  server.Set("o", content);
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  CHECK(ReadRange(*store, "o", 500, 9000) == content.substr(500, 9000));
  // A set, since a request may be sent twice if the machine is busy for seconds.
  std::set<std::string> ranges;
  for (const WebRequest& request : server.web().requests())
    ranges.insert(request.headers.at("range"));
  CHECK(ranges == std::set<std::string>{"bytes=500-9499", "bytes=3500-9499", "bytes=6500-9499"});
  CHECK(store->counts().repeated >= 2);
}

TEST_CASE("With a tenth of all requests failing in each way, all bytes arrive intact") {
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    WebAnswer answer = self->Serve(request);
    switch (request.number * 2654435761U % 1000 / 10 % 10) {
      case 0: return S3ErrorAnswer(503, "SlowDown");
      case 1: return S3ErrorAnswer(500, "InternalError");
      case 2: answer.cut_after = answer.body.size() / 2; return answer;
      case 3: answer.cut_after = 0; return answer;
      case 4: answer.headers["Content-Range"] = "bytes 5-6/1000000"; return answer;
      case 5: return S3ErrorAnswer(429, "TooManyRequests");
      default: return answer;
    }
  });
  self = &server;
  const std::string content = Pattern(400'000);
  server.Set("o", content);
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  constexpr std::size_t kBytes = 4000;
  std::vector<Reading> readings(content.size() / kBytes);
  for (std::size_t i = 0; i < readings.size(); ++i)
    store->Read(readings[i].Range("o", i * kBytes, kBytes));
  for (std::size_t i = 0; i < readings.size(); ++i)
    CHECK(readings[i].Content() == content.substr(i * kBytes, kBytes));
  CHECK(TextOf(store->Get("o", content.size())) == content);
  CHECK(store->counts().repeated > 0);
}

TEST_CASE("A late request is sent a second time in parallel, and each byte is delivered once") {
  std::atomic<int> hung = 0;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.path != "/bkt/late" || hung++ > 0) return std::nullopt;
    WebAnswer answer;
    answer.hang_after = 0;
    return answer;
  });
  const std::string content = Pattern(50'000);
  server.Set("late", content);
  server.Set("o", content);
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  for (int i = 0; i < 20; ++i)
    ReadRange(*store, "o", 0, 100);  // measures the usual time to a first byte
  CHECK(ReadRange(*store, "late", 0, content.size()) == content);
  CHECK(store->counts().repeated >= 1);
}

TEST_CASE("A server that stops sending is asked again for the rest") {
  std::atomic<int> hung = 0;
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    WebAnswer answer = self->Serve(request);
    if (hung++ == 0) answer.hang_after = 1000;
    return answer;
  });
  self = &server;
  const std::string content = Pattern(5000);
  server.Set("o", content);
  StoreSettings settings = TestSettings(server.Variables());
  settings.stall_timeout = std::chrono::seconds(1);
  const auto store = OpenStoreWith("s3://bkt", settings);
  CHECK(ReadRange(*store, "o", 0, content.size()) == content);
}

TEST_CASE("A server that sends a few bytes per second is asked again for the rest") {
  std::atomic<int> slow = 0;
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    WebAnswer answer = self->Serve(request);
    if (slow++ == 0) {
      answer.chunk = 10;
      answer.chunk_delay = std::chrono::milliseconds(100);
    }
    return answer;
  });
  self = &server;
  const std::string content = Pattern(50'000);
  server.Set("o", content);
  StoreSettings settings = TestSettings(server.Variables());
  settings.stall_timeout = std::chrono::seconds(1);
  const auto store = OpenStoreWith("s3://bkt", settings);
  CHECK(ReadRange(*store, "o", 0, content.size()) == content);
  CHECK(store->counts().repeated >= 1);
}

TEST_CASE("A read without progress ends after the timeout with the latest error") {
  BucketServer server(
      [](const WebRequest&) -> std::optional<WebAnswer> { return S3ErrorAnswer(503, "SlowDown"); });
  // The timeout becomes longer and longer, until this machine gets an answer in time, however busy
  // it is.
  for (std::chrono::milliseconds timeout(100);; timeout *= 4) {
    StoreSettings settings = TestSettings(server.Variables());
    settings.retries.timeout = timeout;
    const auto store = OpenStoreWith("s3://bkt", settings);
    const auto error = ErrorOf([&] { ReadRange(*store, "o", 0, 10); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kIo);
    CHECK(error->file() == "s3://bkt/o");
    CHECK(CodeOf([&] { store->Get("o", 10); }) == ErrorCode::kIo);
    const std::string said = error->what();
    if (said.find("SlowDown") != said.npos || said.find("503") != said.npos) return;
    INFO(said);
    REQUIRE(timeout < std::chrono::minutes(1));
  }
}

TEST_CASE("After one request has used up its time, no other is repeated until one is answered") {
  RetrySettings settings;
  settings.timeout = std::chrono::hours(1);
  Outage outage;
  Verdict fails;
  fails.kind = Verdict::Kind::kAgain;
  Retries first(settings, outage);
  Retries second(settings, outage);
  CHECK(first.Wait(fails, true).has_value());
  CHECK(second.Wait(fails, true).has_value());
  first.GiveUp();
  CHECK_FALSE(second.Wait(fails, true).has_value());
  CHECK_FALSE(Retries(settings, outage).Wait(fails, true).has_value());
  Verdict elsewhere;
  elsewhere.kind = Verdict::Kind::kElsewhere;
  CHECK(second.Wait(elsewhere, true).has_value());
  outage.End();
  CHECK(Retries(settings, outage).Wait(fails, true).has_value());
}

TEST_CASE("Only the first read waits for a failing server, and reads succeed when it recovers") {
  std::atomic<bool> fails = true;
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (!fails) return std::nullopt;
    WebAnswer answer = self->Serve(request);
    if (!answer.body.empty()) answer.body.pop_back();  // always a byte short
    return answer;
  });
  self = &server;
  server.Set("o", Pattern(1000));
  // The timeout becomes longer and longer, until five failing reads fit into this time on a busy
  // machine.
  for (std::chrono::milliseconds timeout(500);; timeout *= 4) {
    REQUIRE(timeout < std::chrono::minutes(5));
    StoreSettings settings = TestSettings(server.Variables());
    settings.retries.timeout = timeout;
    const auto store = OpenStoreWith("s3://bkt", settings);
    fails = true;
    CHECK_THROWS_AS(ReadRange(*store, "o", 0, 100), Error);
    const std::uint64_t before = store->counts().repeated;
    CHECK(before > 0);
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 1; i < 6; ++i)
      CHECK_THROWS_AS(ReadRange(*store, "o", i * 100, 100), Error);
    const std::uint64_t after = store->counts().repeated;
    if (std::chrono::steady_clock::now() - begin >= timeout) continue;
    CHECK(after == before);  // each was requested once
    fails = false;
    CHECK(ReadRange(*store, "o", 0, 1000) == Pattern(1000));
    return;
  }
}

TEST_CASE("A read that hangs for longer than the timeout ends with an error") {
  BucketServer server([](const WebRequest&) -> std::optional<WebAnswer> {
    WebAnswer answer;
    answer.hang_after = 0;
    return answer;
  });
  StoreSettings settings = TestSettings(server.Variables());
  settings.retries.timeout = std::chrono::milliseconds(300);
  const auto store = OpenStoreWith("s3://bkt", settings);
  const auto error = ErrorOf([&] { ReadRange(*store, "o", 0, 10); });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("no byte came"));
}

TEST_CASE("A replaced object is an error, whether the server or the client compares ETags") {
  std::atomic<bool> compares = true;
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    WebRequest asked = request;
    if (!compares) asked.headers.erase("if-match");
    return self->Serve(asked);
  });
  self = &server;
  server.Set("o", Pattern(1000));
  for (const std::string& url : {std::string("s3://bkt"), server.plain_url()}) {
    const auto store = OpenStoreWith(url, TestSettings(server.Variables()));
    for (const bool by_server : {true, false}) {
      compares = by_server;
      const auto error = ErrorOf([&] { ReadRange(*store, "o", 0, 10, "\"another\""); });
      REQUIRE(error);
      CHECK(error->code() == ErrorCode::kIo);
      CHECK_THAT(error->what(), ContainsSubstring("was replaced"));
    }
  }
}

TEST_CASE("A weak ETag is compared by the client, since If-Match never matches it") {
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    CHECK_FALSE(request.headers.contains("if-match"));
    WebAnswer answer = self->Serve(request);
    answer.headers["ETag"] = "W/\"1\"";
    return answer;
  });
  self = &server;
  server.Set("o", "0123");
  const auto store = OpenStoreWith(server.plain_url(), TestSettings({}));
  CHECK(ReadRange(*store, "o", 1, 2, "W/\"1\"") == "12");
  CHECK_THROWS_AS(ReadRange(*store, "o", 1, 2, "W/\"2\""), Error);
}

TEST_CASE("An object that ends before the range is an error") {
  BucketServer server;
  server.Set("o", Pattern(1000));
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  CHECK(CodeOf([&] { ReadRange(*store, "o", 990, 11); }) == ErrorCode::kCorrupt);
  CHECK(CodeOf([&] { ReadRange(*store, "o", 1000, 1); }) == ErrorCode::kCorrupt);
}

TEST_CASE("From a server without ranges whole objects are read, and a part is an error") {
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    WebRequest whole = request;
    whole.headers.erase("range");
    return self->Serve(whole);
  });
  self = &server;
  const std::string content = Pattern(100'000);
  server.Set("o", content);
  const auto store = OpenStoreWith(server.plain_url(), TestSettings({}));
  CHECK(ReadRange(*store, "o", 0, content.size()) == content);
  const auto error = ErrorOf([&] { ReadRange(*store, "o", 10, 100); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK_THAT(error->what(), ContainsSubstring("range requests"));
}

TEST_CASE("A read fails if the server sends more bytes than requested, or others") {
  BucketServer server([&](const WebRequest&) -> std::optional<WebAnswer> {
    WebAnswer answer;
    answer.status = 206;
    answer.headers["Content-Range"] = "bytes 0-9/100";
    answer.body = std::string(20, 'x');
    return answer;
  });
  StoreSettings settings = TestSettings(server.Variables());
  settings.retries.timeout = std::chrono::milliseconds(200);
  const auto store = OpenStoreWith("s3://bkt", settings);
  CHECK_THROWS_AS(ReadRange(*store, "o", 0, 10), Error);
  CHECK_THROWS_AS(ReadRange(*store, "o", 50, 10), Error);
}

// The beginning of the range that was requested, at most `most` bytes, as a server may answer.
WebAnswer Shortened(WebAnswer answer, std::size_t most) {
  const auto range = ParseContentRange(answer.headers.at("Content-Range"));
  answer.body.resize(std::min(answer.body.size(), most));
  answer.headers["Content-Range"] = "bytes " + std::to_string(range->first) + "-" +
                                    std::to_string(range->first + answer.body.size() - 1) + "/" +
                                    std::to_string(*range->total);
  return answer;
}

TEST_CASE("An answer with less than the range is used, and the rest is requested without a wait") {
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    return Shortened(self->Serve(request), 4000);
  });
  self = &server;
  const std::string content = Pattern(10'000);
  server.Set("o", content);
  StoreSettings settings = TestSettings(server.Variables());
  settings.retries.first_wait = settings.retries.longest_wait = std::chrono::hours(1);
  const auto store = OpenStoreWith("s3://bkt", settings);
  CHECK(ReadRange(*store, "o", 500, 9000) == content.substr(500, 9000));
  std::set<std::string> ranges;
  for (const WebRequest& request : server.web().requests())
    ranges.insert(request.headers.at("range"));
  CHECK(ranges == std::set<std::string>{"bytes=500-9499", "bytes=4500-9499", "bytes=8500-9499"});
  // A request is doubled if the machine is busy for seconds, and only that is a repetition.
  CHECK(store->counts().repeated + 3 == server.web().requests().size());
}

TEST_CASE("A server that announces the beginning of a range and sends nothing is an error") {
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    WebAnswer answer = Shortened(self->Serve(request), 4000);
    answer.headers["Content-Length"] = std::to_string(answer.body.size());
    answer.body.clear();
    return answer;
  });
  self = &server;
  server.Set("o", Pattern(10'000));
  StoreSettings settings = TestSettings(server.Variables());
  settings.retries.timeout = std::chrono::milliseconds(200);
  const auto store = OpenStoreWith("s3://bkt", settings);
  CHECK(CodeOf([&] { ReadRange(*store, "o", 0, 9000); }) == ErrorCode::kIo);
}

TEST_CASE("Compressed bytes are never taken for content, and the error names URL and header") {
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    CHECK(request.headers.at("accept-encoding") == "identity");
    WebAnswer answer = self->Serve(request);
    answer.headers["Content-Encoding"] = "gzip";
    return answer;
  });
  self = &server;
  server.Set("o", Pattern(10'000));
  for (const std::string& url : {std::string("s3://bkt"), server.plain_url()}) {
    const auto store = OpenStoreWith(url, TestSettings(server.Variables()));
    const auto refusal = [&](const auto& read) {
      const auto error = ErrorOf(read);
      REQUIRE(error);
      CHECK(error->code() == ErrorCode::kUnsupported);
      CHECK(error->file() == url + "/o");
      CHECK_THAT(error->what(), ContainsSubstring("Content-Encoding: gzip"));
    };
    refusal([&] { store->Get("o", 10'000); });
    refusal([&] { store->Head("o"); });
    refusal([&] { ReadRange(*store, "o", 0, 10'000); });
    refusal([&] { ReadRange(*store, "o", 100, 10); });
  }
}

TEST_CASE("A bucket in another region is found there") {
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.headers.at("authorization").find("/eu-west-9/s3/") != std::string::npos)
      return std::nullopt;
    WebAnswer answer =
        S3ErrorAnswer(400, "AuthorizationHeaderMalformed", "<Region>eu-west-9</Region>");
    if (request.method == "HEAD") {
      answer.body.clear();
      answer.headers["x-amz-bucket-region"] = "eu-west-9";
    }
    return answer;
  });
  server.Set("o", "0123456789");
  CHECK(ReadRange(*OpenStoreWith("s3://bkt", TestSettings(server.Variables())), "o", 2, 3) ==
        "234");
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  CHECK(store->Head("o").bytes == 10);
  CHECK(TextOf(store->Get("o", 10)) == "0123456789");
  CHECK(store->counts().repeated == 1);
}

}  // namespace sluice::test
