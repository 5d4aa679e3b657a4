// Objects written in parts.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <stdexcept>
#include <thread>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/reading.h"

namespace sluice::test {

namespace {

StoreSettings SmallParts(const BucketServer& server) {
  StoreSettings settings = TestSettings(server.Variables());
  settings.part_bytes = 1000;
  return settings;
}

ObjectStore::Fill FillFrom(const std::string& content) {
  return [&content](std::uint64_t offset, std::span<std::byte> buffer) {
    std::memcpy(buffer.data(), content.data() + offset, buffer.size());
  };
}

}  // namespace

TEST_CASE("A large object is written in parts, also while requests fail") {
  BucketServer server([](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.number % 4 == 1) return S3ErrorAnswer(500, "InternalError");
    return std::nullopt;
  });
  const auto store = OpenStoreWith("s3://bkt/set", SmallParts(server));
  for (const std::size_t bytes : {0, 1, 1000, 1001, 10'500}) {
    INFO(bytes);
    const std::string content = Pattern(bytes);
    store->PutLarge("shard", bytes, FillFrom(content));
    CHECK(server.Content("set/shard") == content);
  }
  CHECK(server.open_uploads() == 0);
}

TEST_CASE("A failed upload leaves no parts behind, and says why it failed") {
  std::atomic<bool> denied = false;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (denied && request.method == "PUT" && request.query.at("partNumber") == "3")
      return S3ErrorAnswer(403, "AccessDenied");
    return std::nullopt;
  });
  const auto store = OpenStoreWith("s3://bkt", SmallParts(server));
  CHECK_THROWS_AS(store->PutLarge("o", 5000,
                                  [](std::uint64_t offset, std::span<std::byte>) {
                                    if (offset == 2000) throw std::out_of_range("the source");
                                  }),
                  std::out_of_range);
  CHECK(server.open_uploads() == 0);
  denied = true;
  const std::string content = Pattern(5000);
  const auto error = ErrorOf([&] { store->PutLarge("o", content.size(), FillFrom(content)); });
  REQUIRE(error);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("s3:PutObject"));
  CHECK(server.open_uploads() == 0);
  CHECK_FALSE(server.Content("o"));
}

TEST_CASE(
    "An upload to a server that does not answer ends when calls are stopped, and is aborted") {
  std::atomic<int> begun = 0;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.method != "PUT") return std::nullopt;
    ++begun;
    WebAnswer answer;
    answer.hang_after = 0;
    return answer;
  });
  const auto store = OpenStoreWith("s3://bkt", SmallParts(server));
  const std::string content = Pattern(5000);
  std::thread stopping([&] {
    while (begun == 0)
      std::this_thread::yield();
    store->StopCalls();
  });
  const auto error = ErrorOf([&] { store->PutLarge("o", content.size(), FillFrom(content)); });
  stopping.join();
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kState);
  CHECK(server.open_uploads() == 0);
  CHECK(ErrorOf([&] { store->Head("o"); })->code() == ErrorCode::kState);
  std::promise<ErrorCode> ended;
  RangeRead read{"o", 0, 10, {}, {}, 0, [](Bytes) {}, {}};
  read.done = [&](const Error* why) { ended.set_value(why->code()); };
  store->Read(std::move(read));
  CHECK(ended.get_future().get() == ErrorCode::kState);
  store->Remove("o");
}

TEST_CASE("An upload finishes although the answer to its completion is an error or is lost") {
  for (const bool lost : {false, true}) {
    BucketServer* self = nullptr;
    std::atomic<int> finishes = 0;
    BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
      if (request.method != "POST" || !request.query.contains("uploadId") || finishes++ > 0)
        return std::nullopt;
      if (lost) {
        WebAnswer answer = self->Serve(request);
        answer.cut_after = 0;
        return answer;
      }
      WebAnswer answer = S3ErrorAnswer(200, "InternalError");
      return answer;
    });
    self = &server;
    const auto store = OpenStoreWith("s3://bkt", SmallParts(server));
    const std::string content = Pattern(2500);
    store->PutLarge("o", content.size(), FillFrom(content));
    CHECK(server.Content("o") == content);
    CHECK(finishes == 2);
  }
}

}  // namespace sluice::test
