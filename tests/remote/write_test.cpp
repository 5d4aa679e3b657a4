// Objects that are written, replaced and removed, and writers that compete.
#include <atomic>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/reading.h"

namespace sluice::test {

TEST_CASE("An object is written, overwritten and removed") {
  BucketServer server;
  const auto store = OpenStoreWith("s3://bkt/set", TestSettings(server.Variables()));
  store->Put("a b/c", AsBytes("first"));
  CHECK(server.Content("set/a b/c") == "first");
  store->Put("a b/c", AsBytes("second"));
  CHECK(server.Content("set/a b/c") == "second");
  store->Put("empty", {});
  CHECK(server.Content("set/empty") == "");
  store->Remove("a b/c");
  CHECK_FALSE(server.Content("set/a b/c"));
  store->Remove("a b/c");
}

TEST_CASE("One of several writers of a new object wins, and the others get an error") {
  BucketServer server;
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  store->Put("manifest.json", AsBytes("mine"), true);
  const auto error = ErrorOf([&] { store->Put("manifest.json", AsBytes("yours"), true); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kExists);
  CHECK(server.Content("manifest.json") == "mine");
}

TEST_CASE("A writer that does not receive the first answer wins nevertheless") {
  BucketServer* self = nullptr;
  std::atomic<int> puts = 0;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.method != "PUT") return std::nullopt;
    WebAnswer answer = self->Serve(request);
    if (puts++ == 0) answer.cut_after = 0;
    return answer;
  });
  self = &server;
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  store->Remove("manifest.json");  // opens a connection, which Put() reuses
  store->Put("manifest.json", AsBytes("mine"), true);
  CHECK(puts == 2);
  CHECK(server.Content("manifest.json") == "mine");
}

TEST_CASE("A conflict between two writers is retried") {
  std::atomic<int> puts = 0;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.method != "PUT" || puts++ > 1) return std::nullopt;
    return S3ErrorAnswer(409, "ConditionalRequestConflict");
  });
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  store->Put("manifest.json", AsBytes("mine"), true);
  CHECK(puts == 3);
}

TEST_CASE("A refused write names the permission") {
  BucketServer server(
      [&](const WebRequest&) { return std::optional(S3ErrorAnswer(403, "AccessDenied")); });
  const auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  const auto put = ErrorOf([&] { store->Put("a", AsBytes("x")); });
  const auto remove = ErrorOf([&] { store->Remove("a"); });
  REQUIRE((put && remove));
  CHECK_THAT(put->what(), Catch::Matchers::ContainsSubstring("s3:PutObject"));
  CHECK_THAT(remove->what(), Catch::Matchers::ContainsSubstring("s3:DeleteObject"));
}

TEST_CASE("A plain server is read-only") {
  BucketServer server;
  const auto store = OpenStoreWith(server.plain_url(), TestSettings({}));
  CHECK(CodeOf([&] { store->Put("a", AsBytes("x")); }) == ErrorCode::kUnsupported);
  CHECK(CodeOf([&] { store->PutLarge("a", 1, [](std::uint64_t, std::span<std::byte>) {}); }) ==
        ErrorCode::kUnsupported);
  CHECK(CodeOf([&] { store->Remove("a"); }) == ErrorCode::kUnsupported);
  CHECK(CodeOf([&] { store->List("", [](std::string_view, const ObjectInfo&) {}); }) ==
        ErrorCode::kUnsupported);
  CHECK(server.web().requests().empty());
}

}  // namespace sluice::test
