// Reads from S3 and from a plain server: whole objects, ranges, order, cancelling and redirects.
#include <thread>

#include "format/remote/http/link.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/reading.h"

namespace sluice::test {

TEST_CASE("Objects are read whole and by ranges, from S3 and from a plain server") {
  BucketServer server;
  const std::string content = Pattern(300'000);
  server.Set("set/shard-1", content);
  for (const std::string& url : {std::string("s3://bkt/set"), server.plain_url() + "/set"}) {
    INFO(url);
    const auto store = OpenStoreWith(url, TestSettings(server.Variables()));
    CHECK(store->url() == url);
    ObjectInfo info;
    CHECK(TextOf(store->Get("shard-1", 1 << 20, &info)) == content);
    CHECK(info.bytes == content.size());
    CHECK(info.etag == EtagOf(content));
    CHECK(store->Head("shard-1").bytes == content.size());
    CHECK(store->Head("shard-1").etag == info.etag);
    CHECK(ReadRange(*store, "shard-1", 0, content.size(), info.etag) == content);
    CHECK(ReadRange(*store, "shard-1", 100'000, 77, info.etag) == content.substr(100'000, 77));
    CHECK(ReadRange(*store, "shard-1", content.size() - 1, 1) ==
          content.substr(content.size() - 1));
  }
}

TEST_CASE("Requests to S3 are signed, and those without keys are not") {
  BucketServer server;
  server.Set("a", "x");
  OpenStoreWith("s3://bkt", TestSettings(server.Variables()))->Get("a", 10);
  OpenStoreWith("s3://bkt", TestSettings({{"AWS_ENDPOINT_URL_S3", server.web().origin()}}))
      ->Get("a", 10);
  auto variables = server.Variables();
  variables["AWS_NO_SIGN_REQUEST"] = "true";
  OpenStoreWith("s3://bkt", TestSettings(variables))->Get("a", 10);
  const auto requests = server.web().requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0]
            .headers.at("authorization")
            .starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
  CHECK_FALSE(requests[1].headers.contains("authorization"));
  CHECK_FALSE(requests[2].headers.contains("authorization"));
}

TEST_CASE("Keys of any characters reach the server as they are") {
  BucketServer server;
  const auto store = OpenStoreWith("s3://bkt/p q", TestSettings(server.Variables()));
  for (const std::string key : {"a=b",
                                "a+b",
                                "a b",
                                "\xC3\xA9",
                                "a~b",
                                "a'b",
                                "a(b)",
                                "a@b",
                                "a:b",
                                "a,b",
                                "a$b",
                                "a&b",
                                "a*b",
                                "a%20b",
                                "a/b/c",
                                "[x]",
                                "a#b",
                                "a?b=c",
                                "a//b",
                                "a/../b",
                                "a/./b",
                                "a;b",
                                "\xE6\x97\xA5/p=1/x.sluice"}) {
    INFO(key);
    server.Set("p q/" + key, "content of " + key);
    CHECK(TextOf(store->Get(key, 100)) == "content of " + key);
  }
}

TEST_CASE("Many ranges at once arrive complete, over connections that are reused") {
  BucketServer server;
  const std::string content = Pattern(1 << 20);
  server.Set("o", content);
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  constexpr std::size_t kBytes = 5000;
  for (int round = 0; round < 2; ++round) {
    std::vector<Reading> readings(content.size() / kBytes);
    for (std::size_t i = 0; i < readings.size(); ++i)
      store->Read(readings[i].Range("o", i * kBytes, kBytes));
    for (std::size_t i = 0; i < readings.size(); ++i)
      CHECK(readings[i].Content() == content.substr(i * kBytes, kBytes));
  }
  CHECK(server.web().connections() < 100);
  // On a slow machine, late requests are repeated.
  CHECK(store->counts().requests - store->counts().repeated == 2 * (content.size() / kBytes));
  CHECK(store->counts().bytes == 2 * (content.size() / kBytes) * kBytes);
  CHECK(store->UsefulBytesInFlight() > 0);
}

TEST_CASE("The more urgent ranges begin first") {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.path == "/bkt/held") {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return open; });
    }
    return std::nullopt;
  });
  for (const char* const object : {"held", "later", "first"})
    server.Set(object, "x");
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  // As many "held" reads as there are connections wait at the server; all other reads are queued in
  // the store.
  std::vector<Reading> held(64), later(10), first(300);
  for (const Reading& reading : held)
    store->Read(reading.Range("held", 0, 1));
  for (const Reading& reading : later)
    store->Read(reading.Range("later", 0, 1, "", 2));
  for (const Reading& reading : first)
    store->Read(reading.Range("first", 0, 1, "", 1));
  {
    const std::lock_guard lock(mutex);
    open = true;
  }
  changed.notify_all();
  for (const auto* readings : {&held, &later, &first})
    for (const Reading& reading : *readings)
      reading.Content();
  // When the first "later" read begins, all "first" ones have begun. At most as many "first"
  // ones as there are connections have not yet reached the server.
  std::size_t before = 0;
  for (const WebRequest& request : server.web().requests()) {
    if (request.path == "/bkt/later") break;
    before += request.path == "/bkt/first" ? 1 : 0;
  }
  CHECK(before >= first.size() - ConnectionCount::kMax);
}

TEST_CASE("A cancelled read makes no more calls") {
  BucketServer server([](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.path != "/bkt/stuck") return std::nullopt;
    WebAnswer answer;
    answer.status = 206;
    answer.headers["Content-Range"] = "bytes 0-99/100";
    answer.headers["Content-Length"] = "100";
    answer.body = std::string(50, 'x');
    answer.hang_after = 50;
    return answer;
  });
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  Reading running, waiting;
  const std::uint64_t ticket = store->Read(running.Range("stuck", 0, 100));
  running.AwaitBytes(50);
  store->Cancel(ticket);
  CHECK(running.ends() == 0);
  store->Cancel(ticket);  // does nothing
  server.Set("a", "abc");
  CHECK(ReadRange(*store, "a", 0, 3) == "abc");
  CHECK(running.ends() == 0);
}

TEST_CASE("A store is closed at once while reads hang") {
  BucketServer server([](const WebRequest&) -> std::optional<WebAnswer> {
    WebAnswer answer;
    answer.hang_after = 0;
    return answer;
  });
  std::vector<Reading> readings(50);
  {
    const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
    for (const Reading& reading : readings)
      store->Read(reading.Range("a", 0, 10));
    while (server.web().requests().empty())
      std::this_thread::yield();
  }
  for (const Reading& reading : readings)
    CHECK(reading.ends() == 0);
}

TEST_CASE("A finished range may begin another") {
  BucketServer server;
  const std::string content = Pattern(1000);
  server.Set("o", content);
  const auto store = OpenStoreWith(server.plain_url(), TestSettings({}));
  const Reading second;
  RangeRead first = Reading().Range("o", 0, 100);
  first.done = [&](const Error*) { store->Read(second.Range("o", 100, 100)); };
  store->Read(std::move(first));
  CHECK(second.Content() == content.substr(100, 100));
}

TEST_CASE("An object larger than the limit is refused") {
  BucketServer server;
  server.Set("a", std::string(100, 'x'));
  server.Set("large", std::string(200'000, 'x'));
  const auto store = OpenStoreWith(server.plain_url(), TestSettings({}));
  CHECK(store->Get("a", 100).size() == 100);
  CHECK(CodeOf([&] { store->Get("a", 99); }) == ErrorCode::kLimit);
  CHECK(CodeOf([&] { store->Get("large", 199'999); }) == ErrorCode::kLimit);
  CHECK(CodeOf([&] { store->Read(Reading().Range("a", 0, 0)); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("The query and password of a plain URL are sent with every request") {
  BucketServer server;
  server.Set("d/a", "x");
  std::string url = server.plain_url() + "/d?token=s%20ecret";
  url.insert(url.find("//") + 2, "me:pa%3Ass@");
  const auto store = OpenStoreWith(url, TestSettings({}));
  CHECK(store->url() == server.plain_url() + "/d");
  CHECK(TextOf(store->Get("a", 10)) == "x");
  const WebRequest request = server.web().requests().at(0);
  CHECK(request.target == "/bkt/d/a?token=s%20ecret");
  CHECK(request.headers.at("authorization") == "Basic bWU6cGE6c3M=");
}

TEST_CASE("If a server refuses HEAD, a request for a part gives the object's size") {
  const int status = GENERATE(403, 405, 501);
  const bool knows_ranges = GENERATE(true, false);
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.method == "HEAD") return S3ErrorAnswer(status, "Refused");
    if (knows_ranges) {
      WebAnswer answer = self->Serve(request);
      if (answer.status == 416) answer.headers["Content-Range"] = "bytes */0";
      return answer;
    }
    WebRequest whole = request;
    whole.headers.erase("range");
    return self->Serve(whole);
  });
  self = &server;
  server.Set("a", std::string(200'000, 'x'));
  server.Set("empty", "");
  for (const std::string& url : {std::string("s3://bkt"), server.plain_url()}) {
    const auto store = OpenStoreWith(url, TestSettings(server.Variables()));
    CHECK(store->Head("a").bytes == 200'000);
    CHECK(store->Head("empty").bytes == 0);
  }
}

TEST_CASE("A server that refuses HEAD and a request for a part refuses the object") {
  BucketServer server([](const WebRequest&) -> std::optional<WebAnswer> {
    return S3ErrorAnswer(403, "AccessDenied");
  });
  server.Set("a", "x");
  const auto store = OpenStoreWith(server.plain_url(), TestSettings({}));
  const auto error = ErrorOf([&] { store->Head("a"); });
  REQUIRE(error);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("does not let it be read"));
}

TEST_CASE("A range is read without the object's size, and a missing size is an error with advice") {
  bool with_length = true;
  BucketServer* self = nullptr;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.method == "HEAD" && !with_length) return S3ErrorAnswer(405, "MethodNotAllowed");
    WebAnswer answer = self->Serve(request);
    if (const auto range = answer.headers.find("Content-Range"); range != answer.headers.end())
      range->second = range->second.substr(0, range->second.find('/')) + "/*";
    return answer;
  });
  self = &server;
  const std::string content = Pattern(1000);
  server.Set("a", content);
  const auto store = OpenStoreWith(server.plain_url(), TestSettings({}));
  CHECK(store->Head("a").bytes == 1000);
  const Reading reading;
  RangeRead read = reading.Range("a", 100, 200);
  const auto info = read.info = std::make_shared<ObjectInfo>();
  store->Read(std::move(read));
  CHECK(reading.Content() == content.substr(100, 200));
  CHECK(info->bytes == 0);
  CHECK(CodeOf([&] { ReadRange(*store, "a", 900, 101); }) == ErrorCode::kCorrupt);
  with_length = false;
  const auto error = ErrorOf([&] { store->Head("a"); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK(error->file() == server.plain_url() + "/a");
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("download the file"));
}

TEST_CASE(
    "Redirects of a plain server are followed, without sending its password to another server") {
  BucketServer target;
  target.Set("a", "0123456789");
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    WebAnswer answer;
    answer.status = 307;
    if (request.path == "/bkt/a")
      answer.headers["Location"] = "/bkt/hop";
    else if (request.path == "/bkt/hop")
      answer.headers["Location"] = target.plain_url() + "/a?signature=x";
    else
      answer.headers["Location"] = "/bkt/round";
    return answer;
  });
  std::string url = server.plain_url();
  url.insert(url.find("//") + 2, "me:secret@");
  const auto store = OpenStoreWith(url, TestSettings({}));
  CHECK(TextOf(store->Get("a", 10)) == "0123456789");
  CHECK(ReadRange(*store, "a", 3, 4) == "3456");
  CHECK(server.web().requests().at(1).headers.contains("authorization"));
  for (const WebRequest& request : target.web().requests())
    CHECK_FALSE(request.headers.contains("authorization"));
  const auto error = ErrorOf([&] { store->Get("round", 10); });
  REQUIRE(error);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("in a loop"));
}

TEST_CASE("A redirect that leads nowhere is an error that names it, and is not tried for long") {
  std::string target;
  BucketServer server([&](const WebRequest&) -> std::optional<WebAnswer> {
    WebAnswer answer;
    answer.status = 302;
    answer.headers["Location"] = target;
    return answer;
  });
  const auto refusal = [&](bool range) {
    const auto store = OpenStoreWith(server.plain_url(), TestSettings({}));
    const auto error = ErrorOf([&] {
      if (range)
        ReadRange(*store, "a", 3, 4);
      else
        store->Get("a", 10);
    });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kIo);
    return std::string(error->what());
  };
  const std::string dead = [] {
    const BucketServer gone;
    return gone.plain_url();
  }();
  using Catch::Matchers::ContainsSubstring;
  for (const bool range : {false, true}) {
    target = "http://me:secret@localhost/a";
    CHECK_THAT(refusal(range),
               ContainsSubstring("a name and password") && !ContainsSubstring("secret"));
    target = "http://local host/a";
    CHECK_THAT(refusal(range), ContainsSubstring("does not follow it"));
    target = "ftp://host/a";
    CHECK_THAT(refusal(range), ContainsSubstring("complete http:// and https:// URLs only") &&
                                   ContainsSubstring(target));
    // Tests would wait for minutes if the first server's answers counted as this one's.
    target = dead;
    CHECK_THAT(refusal(range), ContainsSubstring("cannot be reached") &&
                                   ContainsSubstring(dead.substr(0, dead.rfind('/'))));
  }
}

}  // namespace sluice::test
