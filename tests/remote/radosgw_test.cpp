// Reads and writes through radosgw, which checks every signature. Skipped if it is not installed.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include <sluice/convert.h>
#include <sluice/copy.h>

#include "format/disk/file.h"
#include "format/remote/http/url.h"
#include "format/remote/server/s3_endpoint.h"
#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/format/error_of.h"
#include "tests/pictures.h"
#include "tests/reader/sample_data.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/racing.h"
#include "tests/remote/reading.h"
#include "tests/temporary_folder.h"

namespace sluice::test {

namespace {

// Runs radosgw.sh, which ends when its standard input closes.
class Radosgw {
 public:
  Radosgw() {
    const std::string command = std::string(SLUICE_RADOSGW) + " '" + folder_.path().string() +
                                "' " + std::to_string(ports_.first) + " " +
                                std::to_string(ports_.second) + " > '" +
                                (folder_ / "output").string() + "'";
    pipe_ = popen(command.c_str(), "w");
    REQUIRE(pipe_ != nullptr);
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!std::filesystem::exists(folder_ / "output") ||
           std::filesystem::file_size(folder_ / "output") == 0) {
      REQUIRE(std::chrono::steady_clock::now() < until);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    MakeBucket();
  }
  ~Radosgw() { pclose(pipe_); }
  Radosgw(const Radosgw&) = delete;
  Radosgw& operator=(const Radosgw&) = delete;

  std::map<std::string, std::string> Variables() const {
    return {{"AWS_ENDPOINT_URL", "http://127.0.0.1:" + std::to_string(ports_.first)},
            {"AWS_ACCESS_KEY_ID", "testkey"},
            {"AWS_SECRET_ACCESS_KEY", "testsecret"}};
  }

 private:
  // ObjectStore cannot create a bucket, so the request is made here.
  void MakeBucket() {
    S3Endpoint endpoint(ParseStoreUrl("s3://bkt"), {"", Variables().at("AWS_ENDPOINT_URL")});
    StoreCall call;
    call.method = "PUT";
    call.whole_bucket = true;
    HttpLoop loop{HttpLoop::Settings{}};
    HttpReply reply;
    for (int i = 0; i < 100 && reply.status != 200; ++i) {
      reply = loop.Call(endpoint.Form(call, {"testkey", "testsecret", "", {}}), 10'000);
      if (reply.status != 200) loop.Sleep(std::chrono::milliseconds(200));
    }
    REQUIRE(reply.status == 200);
  }

  TemporaryFolder folder_;
  const std::pair<std::uint16_t, std::uint16_t> ports_ = FreePorts();
  std::FILE* pipe_ = nullptr;
};

}  // namespace

TEST_CASE("radosgw accepts every signature and does the requested work", "[slow]") {
  if (std::system((std::string(SLUICE_RADOSGW) + " --can").c_str()) != 0) {
    std::cout << "skipped: radosgw and its daemons are not installed\n";
    return;
  }
  const Radosgw radosgw;
  StoreSettings settings = TestSettings(radosgw.Variables());
  settings.part_bytes = 5 << 20;  // the minimum in S3
  const auto store = OpenStoreWith("s3://bkt/a set=1/+", settings);

  SECTION("Pictures in folders of any names are listed and converted like local ones") {
    const TemporaryFolder folder;
    ConvertOptions options;
    options.form.image = ImageCodec::kRaw;
    options.geometry.max_side = 16;
    for (int i = 0; i < 30; ++i) {
      const std::string key = (i % 3 == 0   ? "a+b/"
                               : i % 3 == 1 ? "c d/e/"
                                            : "\xC3\xA9/") +
                              std::to_string(i) + ".jpg";
      const std::vector<std::byte> jpeg = MakeJpeg(MakePicture(20, 20, 3, std::uint64_t(i)));
      std::filesystem::create_directories((folder / "local" / key).parent_path());
      WriteFile(folder / "local" / key, jpeg);
      store->Put("pictures/" + key, jpeg);
    }
    const StoreEnvironment environment(radosgw.Variables());
    Convert(folder / "local", folder / "a", options);
    Convert(std::filesystem::path("s3://bkt/a set=1/+/pictures"), folder / "b", options);
    for (const auto& file : std::filesystem::directory_iterator(folder / "a"))
      CHECK((ContentOf(file.path()) == ContentOf(folder / "b" / file.path().filename())));
  }
  SECTION("Keys of any characters are written, read, listed and removed") {
    std::vector<std::string> keys = {"a=b",   "a+b",
                                     "a b",   "\xC3\xA9",
                                     "a~b",   "a'b",
                                     "a(b)",  "a@b",
                                     "a:b",   "a,b",
                                     "a$b",   "a&b",
                                     "a*b",   "a%20b",
                                     "a/b/c", "[x]",
                                     "a#b",   "a?b=c",
                                     "a;b",   "a//b",
                                     "a!b",   "\xE6\x97\xA5/p=1/x.sluice"};
    for (const std::string& key : keys) {
      INFO(key);
      store->Put(key, AsBytes("content of " + key));
      CHECK(TextOf(store->Get(key, 100)) == "content of " + key);
      CHECK(ReadRange(*store, key, 8, 2, store->Head(key).etag) == "of");
    }
    std::vector<std::string> listed;
    store->List("", [&](std::string_view key, const ObjectInfo& info) {
      CHECK(info.bytes == 11 + key.size());
      listed.emplace_back(key);
    });
    std::sort(keys.begin(), keys.end());
    std::sort(listed.begin(), listed.end());
    CHECK(listed == keys);
    for (const std::string& key : keys) {
      store->Remove(key);
      CHECK(CodeOf([&] { store->Get(key, 100); }) == ErrorCode::kNotFound);
    }
    store->Remove("none");
  }
  SECTION("A list goes over several pages") {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&store, t] {
        for (int i = 0; i < 130; ++i)
          store->Put("many/" + std::to_string(t * 1000 + i), AsBytes("x"));
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    int count = 0;
    store->List("many/", [&](std::string_view, const ObjectInfo&) { ++count; });
    CHECK(count == 8 * 130);
  }
  SECTION("Large objects are written in parts and read by ranges") {
    const std::string content = Pattern(17 << 20);
    store->PutLarge("large", content.size(),
                    [&](std::uint64_t offset, std::span<std::byte> buffer) {
                      std::memcpy(buffer.data(), content.data() + offset, buffer.size());
                    });
    const ObjectInfo info = store->Head("large");
    CHECK(info.bytes == content.size());
    std::vector<Reading> readings(17);
    for (std::size_t i = 0; i < readings.size(); ++i)
      store->Read(readings[i].Range("large", i << 20, 1 << 20, info.etag));
    for (std::size_t i = 0; i < readings.size(); ++i)
      CHECK(readings[i].Content() == content.substr(i << 20, 1 << 20));
    store->Put("large", AsBytes("replaced"));
    CHECK_THAT(ErrorOf([&] { ReadRange(*store, "large", 0, 4, info.etag); })->what(),
               Catch::Matchers::ContainsSubstring("was replaced"));
  }
  SECTION("One of forty writers of a new object wins") {
    std::atomic<int> won = 0, lost = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 40; ++t) {
      threads.emplace_back([&, t] {
        try {
          store->Put("manifest.json", AsBytes("of " + std::to_string(t)), true);
          ++won;
        } catch (const Error& error) {
          if (error.code() == ErrorCode::kExists) ++lost;
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(won == 1);
    CHECK(lost == 39);
  }
  SECTION("Of two programs that change a dataset at once, none undoes what the other did") {
    const TemporaryFolder folder;
    const StoreEnvironment environment(radosgw.Variables());
    const std::filesystem::path data = WriteRawDataset(folder, 40);
    int lost = 0;
    for (int i = 0; i < 10; ++i) {
      const std::string url = "s3://bkt/race" + std::to_string(i);
      CopyDataset(data, url);
      lost += RaceDeletions(url);
    }
    std::cout << "the second of two writers was refused " << lost << " times of 10\n";
  }
  SECTION("Wrong keys, a missing bucket and missing permission give different errors") {
    const auto message = [&](const std::string& url, const std::string& name,
                             const std::string& value) {
      auto variables = radosgw.Variables();
      variables[name] = value;
      const auto error = ErrorOf([&] { OpenStoreWith(url, TestSettings(variables))->Get("o", 1); });
      return error ? std::string(error->what()) : "no error";
    };
    using Catch::Matchers::ContainsSubstring;
    CHECK_THAT(message("s3://bkt", "AWS_SECRET_ACCESS_KEY", "wrong"),
               ContainsSubstring("AWS_SECRET_ACCESS_KEY"));
    CHECK_THAT(message("s3://bkt", "AWS_ACCESS_KEY_ID", "nobody"),
               ContainsSubstring("AWS_ACCESS_KEY_ID"));
    CHECK_THAT(message("s3://no-such", "AWS_REGION", "us-east-1"),
               ContainsSubstring("no bucket 'no-such'"));
    CHECK_THAT(message("s3://bkt", "AWS_NO_SIGN_REQUEST", "true"),
               ContainsSubstring("no credentials were found"));
    CHECK_THAT(message("s3://bkt", "AWS_REGION", "us-east-1"), ContainsSubstring("no such object"));
  }
}

}  // namespace sluice::test
