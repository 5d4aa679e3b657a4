// Lists of objects: pages, folders, and answers that are not lists.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <vector>

#include "format/remote/local_store.h"
#include "format/remote/server/s3_endpoint.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/temporary_folder.h"
#include "writer/source/list/store_files.h"

namespace sluice::test {

namespace {

std::vector<std::string> Names(ObjectStore& store, const std::string& prefix) {
  std::vector<std::string> names;
  store.List(prefix, [&](std::string_view object, const ObjectInfo& info) {
    names.push_back(std::string(object) + " " + std::to_string(info.bytes));
  });
  return names;
}

}  // namespace

TEST_CASE("Objects are listed page after page, by their names below the store") {
  BucketServer server;
  for (const std::string key :
       {"other", "set/a", "set/b+c d", "set/e/f&<g>", "set/\xC3\xA9", "settings"})
    server.Set(key, key);
  const auto store = OpenStoreWith("s3://bkt/set", TestSettings(server.Variables()));
  CHECK(Names(*store, "") ==
        std::vector<std::string>{"a 5", "b+c d 9", "e/f&<g> 11", "\xC3\xA9 6"});
  CHECK(Names(*store, "e/") == std::vector<std::string>{"e/f&<g> 11"});
  CHECK(Names(*store, "none").empty());
  CHECK(Names(*OpenStoreWith("s3://bkt", TestSettings(server.Variables())), "").size() == 6);
}

TEST_CASE("Objects and folders directly in a folder are listed") {
  BucketServer server;
  for (const std::string key : {"set/a", "set/b c/1", "set/b c/2", "set/b c/d/3", "set/e/4",
                                "set/f", "set/g/5", "set/h/6", "settings/7"})
    server.Set(key, key);
  const TemporaryFolder folder;
  for (const char* const name : {"b c/d", "e", "g", "h"})
    std::filesystem::create_directories(folder / name);
  for (const char* const name : {"a", "b c/1", "b c/2", "b c/d/3", "e/4", "f", "g/5", "h/6"})
    std::ofstream(folder / name) << "content";
  const std::shared_ptr<ObjectStore> stores[] = {
      OpenStoreWith("s3://bkt/set", TestSettings(server.Variables())),
      std::make_shared<LocalStore>(folder.path())};
  for (const auto& store : stores) {
    std::vector<std::string> objects;
    const auto each = [&](std::string_view object, const ObjectInfo&) {
      objects.emplace_back(object);
    };
    CHECK(store->ListFolder("", each) == std::vector<std::string>{"b c/", "e/", "g/", "h/"});
    CHECK(objects == std::vector<std::string>{"a", "f"});
    objects.clear();
    CHECK(store->ListFolder("b c/", each) == std::vector<std::string>{"b c/d/"});
    CHECK(objects == std::vector<std::string>{"b c/1", "b c/2"});
  }
}

TEST_CASE("An endless list, and an answer that is not a list, are errors") {
  BucketServer endless([](const WebRequest&) -> std::optional<WebAnswer> {
    WebAnswer answer;
    answer.body =
        "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</"
        "NextContinuationToken>"
        "</ListBucketResult>";
    return answer;
  });
  CHECK(CodeOf([&] { Names(*OpenStoreWith("s3://bkt", TestSettings(endless.Variables())), ""); }) ==
        ErrorCode::kIo);
  // Endless empty pages, each with another token for the next.
  std::atomic<int> pages{0};
  BucketServer empty([&pages](const WebRequest&) -> std::optional<WebAnswer> {
    WebAnswer answer;
    answer.body = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" +
                  std::to_string(++pages) + "</NextContinuationToken></ListBucketResult>";
    return answer;
  });
  const auto no_end =
      ErrorOf([&] { Names(*OpenStoreWith("s3://bkt", TestSettings(empty.Variables())), ""); });
  REQUIRE(no_end);
  CHECK_THAT(no_end->what(), Catch::Matchers::ContainsSubstring("does not end"));
  BucketServer page([](const WebRequest&) -> std::optional<WebAnswer> {
    WebAnswer answer;
    answer.body = "<html><body>Welcome</body></html>";
    return answer;
  });
  const auto error =
      ErrorOf([&] { Names(*OpenStoreWith("s3://bkt", TestSettings(page.Variables())), ""); });
  REQUIRE(error);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("AWS_ENDPOINT_URL"));
}

TEST_CASE("A list of a source's objects that would take too much memory is refused") {
  BucketServer server;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "set/" + std::to_string(i % 3) + "/" + std::to_string(i);
    server.Set(key, key);
  }
  const StoreFiles files(OpenStoreWith("s3://bkt/set", TestSettings(server.Variables())), {});
  CHECK(files.List().files.size() == 1000);
  const auto refused = ErrorOf([&] { files.List(1 << 10); });
  REQUIRE(refused);
  CHECK(refused->code() == ErrorCode::kLimit);
  CHECK_THAT(refused->what(), Catch::Matchers::ContainsSubstring("s3://bkt/set") &&
                                  Catch::Matchers::ContainsSubstring("convert its folders one by"));
}

TEST_CASE("A page of a list is parsed, and a malformed one is refused") {
  const auto page = ParseListing(
      "<ListBucketResult><Contents><Key>a+b%2Bc</Key><Size>7</Size></Contents><IsTruncated>false</"
      "IsTruncated>"
      "<EncodingType>url</EncodingType></ListBucketResult>");
  REQUIRE(page);
  CHECK(page->objects.at(0).key == "a b+c");  // S3 escapes as forms do: a plus is a space
  CHECK(page->objects.at(0).info.bytes == 7);
  CHECK(ParseListing("<ListBucketResult><Contents><Key>a+b%2Bc</Key><Size>7</Size></Contents></"
                     "ListBucketResult>")
            ->objects.at(0)
            .key == "a+b%2Bc");
  for (const char* bad :
       {"", "<ListBucketResult>", "<Other/>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents></"
        "ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%2</Key><Size>1</Size></"
        "Contents>"
        "</ListBucketResult>"}) {
    INFO(bad);
    CHECK_FALSE(ParseListing(bad));
  }
}

}  // namespace sluice::test
