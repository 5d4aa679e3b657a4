// Conversions of pictures in a bucket, and conversions that write their dataset into a bucket. Both
// must give the same files as conversions from folder to folder, also if requests fail. The last
// tests play pictures in a bucket without a conversion.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <sluice/convert.h>
#include <sluice/convert_steps.h>
#include <sluice/copy.h>
#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/play_source.h>
#include <sluice/verify.h>

#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "format/disk/sample_supply.h"
#include "format/remote/http/http_answer.h"
#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/format/error_of.h"
#include "tests/pictures.h"
#include "tests/remote/bucket_server.h"
#include "tests/temporary_folder.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

// A server with a bucket. This process's environment has its address and credentials, so that s3://
// URLs lead there.
class Bucket {
 public:
  explicit Bucket(BucketServer::Fault fault = nullptr) : server_(std::move(fault)) {}
  BucketServer* operator->() { return &server_; }

  // Stores all files of a folder as objects below the prefix.
  void Fill(const fs::path& folder, const std::string& prefix) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file())
        server_.Set(prefix + entry.path().lexically_relative(folder).string(),
                    ContentOf(entry.path()));
    }
  }

 private:
  BucketServer server_;
  const StoreEnvironment environment_{server_.Variables()};
};

void Write(const fs::path& file, Bytes content) {
  fs::create_directories(file.parent_path());
  WriteFile(file, content);
}

// Writes pictures of two classes, a text file, a broken picture, an empty file, and pictures that a
// conversion skips: hidden ones and those in folders of tools.
fs::path WritePictures(const fs::path& folder, int count = 40) {
  for (int i = 0; i < count; ++i) {
    const std::string name = (i % 2 == 0 ? "cats/" : "dogs/") + std::to_string(i) + " +é.jpg";
    Write(folder / name, MakeJpeg(MakePicture(60 + i, 50, 3, std::uint64_t(i))));
  }
  Write(folder / "dogs/notes.txt", AsBytes("no picture"));
  std::vector<std::byte> broken = MakeJpeg(MakePicture(64, 64));
  broken.resize(broken.size() / 2);
  Write(folder / "dogs/broken.jpg", broken);
  for (const char* name : {"cats/.hidden.jpg", "cats/.cache/1.jpg", "cats/.cache/2.jpg",
                           "@eaDir/cats/1.jpg", "@eaDir/cats/2.jpg", "dogs/lost+found/1.jpg"})
    Write(folder / name, MakeJpeg(MakePicture(64, 64)));
  Write(folder / "cats/empty.jpg", {});
  return folder;
}

ConvertOptions SmallShards() {
  ConvertOptions options;
  options.shards.shard_bytes = 1 << 20;
  options.geometry.max_side = 32;
  options.run.threads = 3;
  return options;
}

std::map<std::string, std::string> FilesOf(const fs::path& dataset) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(dataset))
    files[entry.path().filename().string()] = ContentOf(entry.path());
  return files;
}

std::map<std::string, std::string> ShardsOf(const fs::path& dataset) {
  std::map<std::string, std::string> files = FilesOf(dataset);
  std::erase_if(files, [](const auto& file) { return !file.first.ends_with(".sluice"); });
  REQUIRE(!files.empty());
  return files;
}

// A failure shows only the file's name, not the contents.
void RequireSameFiles(const fs::path& a, const fs::path& b) {
  const auto files = FilesOf(a);
  const auto others = FilesOf(b);
  REQUIRE(files.size() == others.size());
  for (const auto& [name, content] : files) {
    INFO(name);
    REQUIRE(others.count(name) == 1);
    CHECK((others.at(name) == content));
  }
}

}  // namespace

TEST_CASE("Pictures in a bucket are converted like those in a folder, also if requests fail") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures");
  const ConvertSummary local = Convert(pictures, folder / "local", SmallShards());
  std::atomic<int> requests = 0;
  const bool fails = GENERATE(false, true);
  Bucket bucket([&](const WebRequest&) -> std::optional<WebAnswer> {
    if (!fails || requests++ % 3 != 2) return std::nullopt;
    return S3ErrorAnswer(503, "SlowDown");
  });
  bucket.Fill(pictures, "a/pictures/");
  bucket->Set("a/pictures2/cats/other.jpg", "of another folder");
  bucket->Set("a/pictures/cats/", "");  // some tools mark a folder like this
  const ConvertSummary remote =
      Convert(fs::path("s3://bkt/a/pictures/"), folder / "remote", SmallShards());
  CHECK(remote.samples == 40);
  CHECK(remote.skipped.size() == local.skipped.size());
  CHECK(remote.bytes_in == local.bytes_in);
  RequireSameFiles(folder / "local", folder / "remote");
}

TEST_CASE("Pictures in a bucket are converted in planned parts like those in a folder") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures");
  Convert(pictures, folder / "local", SmallShards());
  Bucket bucket;
  bucket.Fill(pictures, "pictures/");
  const fs::path parts = folder / "parts";
  PlanConversion(fs::path("s3://bkt/pictures"), parts, SmallShards());
  for (unsigned part = 0; part < 2; ++part)
    ConvertPlanned(parts, {part, 2});
  FinishConversion(parts);
  RequireSameFiles(folder / "local", parts);
}

TEST_CASE("Lists, tables and label files may name pictures in a bucket or on a plain server") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures");
  Bucket bucket;
  bucket.Fill(pictures, "pictures/");
  const bool plain = GENERATE(false, true);
  const std::string url = plain ? bucket->plain_url() + "/pictures" : "s3://bkt/pictures";
  const std::vector<std::string> paths = {"cats/0 +é.jpg", "cats/2 +é.jpg", "dogs/7 +é.jpg",
                                          "dogs/gone.jpg"};
  Convert(ConvertSource::Paths(paths, pictures), folder / "local", SmallShards());
  std::vector<std::string> urls = paths;
  urls[1] = url + "/" + urls[1];
  const ConvertSummary remote =
      Convert(ConvertSource::Paths(urls, url), folder / "remote", SmallShards());
  REQUIRE(remote.skipped.size() == 1);
  CHECK(remote.skipped[0].path == "dogs/gone.jpg");
  CHECK((ShardsOf(folder / "local") == ShardsOf(folder / "remote")));

  Write(folder / "table.csv", AsBytes("path,label\ncats/0 +é.jpg,cat\ndogs/7 +é.jpg,dog\n"));
  ConvertSource table = ConvertSource::Table(folder / "table.csv");
  table.root = pictures;
  Convert(table, folder / "local-table", SmallShards());
  table.root = url;
  Convert(table, folder / "remote-table", SmallShards());
  // Only in a folder are pictures without a row looked for, and listed in skipped.tsv.
  std::filesystem::remove(folder / "local-table/skipped.tsv");
  std::filesystem::remove(folder / "remote-table/skipped.tsv");
  RequireSameFiles(folder / "local-table", folder / "remote-table");

  Write(folder / "voc/a.xml",
        AsBytes("<annotation><filename>cats/0 +é.jpg</filename><object><name>cat</name><bndbox>"
                "<xmin>2</xmin><ymin>2</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>"
                "</annotation>"));
  const auto voc = [&](const fs::path& root) {
    return ConvertSource::Annotated(AnnotationFormat::kVoc, folder / "voc", root);
  };
  Convert(voc(pictures), folder / "local-voc", SmallShards());
  Convert(voc(url), folder / "remote-voc", SmallShards());
  CHECK((ShardsOf(folder / "local-voc") == ShardsOf(folder / "remote-voc")));

  // A plan saves no secrets, and its workers would need the one in the URL: such a URL is
  // refused. An @ in a key is not a secret.
  table.root = url + (plain ? "?sig=secret" : "@home/");
  const auto plan = [&] { PlanConversion(table, folder / "planned", SmallShards()); };
  if (plain) {
    const auto error = ErrorOf(plan);
    REQUIRE(error);
    CHECK_THAT(error->what(),
               ContainsSubstring("has a password or a query, which Sluice does not save"));
    CHECK_THAT(error->what(), !ContainsSubstring("secret"));
  } else {
    bucket.Fill(pictures, "pictures@home/");
    CHECK_NOTHROW(plan());
  }
}

TEST_CASE(
    "Tables name pictures on servers that refuse HEAD, tell no sizes, or give short answers") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures", 4);
  Write(folder / "table.csv", AsBytes("path,label\ncats/0 +é.jpg,cat\ndogs/3 +é.jpg,dog\n"));
  const std::string kind = GENERATE("no HEAD", "no total", "short answers");
  INFO(kind);
  BucketServer* self = nullptr;
  Bucket bucket([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (kind == "no HEAD" && request.method == "HEAD") return S3ErrorAnswer(403, "AccessDenied");
    WebAnswer answer = self->Serve(request);
    if (const auto said = answer.headers.find("Content-Range"); said != answer.headers.end()) {
      const auto range = ParseContentRange(said->second);
      if (kind == "short answers")
        answer.body.resize(std::min<std::size_t>(answer.body.size(), 99));
      said->second = "bytes " + std::to_string(range->first) + "-" +
                     std::to_string(range->first + answer.body.size() - 1) + "/" +
                     (kind == "no total" ? "*" : std::to_string(*range->total));
    }
    return answer;
  });
  self = bucket.operator->();
  bucket.Fill(pictures, "pictures/");
  ConvertSource table = ConvertSource::Table(folder / "table.csv");
  table.root = pictures;
  Convert(table, folder / "local", SmallShards());
  table.root = bucket->plain_url() + "/pictures";
  Convert(table, folder / "remote", SmallShards());
  CHECK((ShardsOf(folder / "local") == ShardsOf(folder / "remote")));
}

TEST_CASE("A picture replaced in its bucket by one of the same size is noticed by its time") {
  const TemporaryFolder folder;
  const auto ppm = [](char value) { return "P6 8 8 255\n" + std::string(8 * 8 * 3, value); };
  std::atomic<std::time_t> written = std::time(nullptr) - 1000;  // Last-Modified of b.ppm
  BucketServer* server = nullptr;
  Bucket bucket([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.method != "GET" || !request.path.ends_with(".ppm")) return std::nullopt;
    WebAnswer answer = server->Serve(request);
    const std::time_t time = request.path.ends_with("b.ppm") ? written.load() : 1'000'000'000;
    std::array<char, 64> text{};
    std::tm utc{};
    std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&time, &utc));
    answer.headers["Last-Modified"] = text.data();
    return answer;
  });
  server = bucket.operator->();
  for (const char* name : {"a", "b", "c"})
    bucket->Set("p/" + std::string(name) + ".ppm", ppm(name[0]));
  const auto convert = [&] { return Convert(fs::path("s3://bkt/p"), folder / "data"); };
  CHECK(convert().samples == 3);
  CHECK(convert().samples == 3);
  bucket->Set("p/b.ppm", ppm('x'));
  written = std::time(nullptr) + 5;
  const auto error = ErrorOf(convert);
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kExists);
  CHECK_THAT(error->sentence(), ContainsSubstring("1 source changed, such as b.ppm,"));
  bucket->Set("p/b.ppm", ppm('b'));
  CHECK(convert().samples == 3);
}

TEST_CASE("Of two datasets that are copied to one URL at the same time, one is refused") {
  const TemporaryFolder folder;
  Convert(WritePictures(folder / "pictures"), folder / "a", SmallShards());
  ConvertOptions smaller = SmallShards();
  smaller.geometry.max_side = 20;
  Convert(folder / "pictures", folder / "b", smaller);
  Bucket bucket;
  const auto copy_b = [&] { CopyDataset(folder / "b", "s3://bkt/x"); };
  CopyOptions options;
  std::optional<Error> meanwhile;
  options.on_progress = [&](std::uint64_t, std::uint64_t) { meanwhile = ErrorOf(copy_b); };
  CopyDataset(folder / "a", "s3://bkt/x", options);
  REQUIRE(meanwhile);
  CHECK(meanwhile->code() == ErrorCode::kExists);
  CHECK_THAT(meanwhile->sentence(), ContainsSubstring("another dataset is being copied there"));
  CHECK(VerifyDataset("s3://bkt/x").faults.empty());
  CHECK_FALSE(bucket->Content("x/sluice-copy.txt"));
  CHECK_THAT(ErrorOf(copy_b)->sentence(), ContainsSubstring("holds another dataset already"));

  // A copy that was stopped keeps its place, and is resumed by the same call.
  std::stop_source stop;
  options.stop = stop.get_token();
  options.on_progress = [&](std::uint64_t, std::uint64_t) { stop.request_stop(); };
  CHECK(CodeOf([&] { CopyDataset(folder / "a", "s3://bkt/y", options); }) == ErrorCode::kState);
  CHECK_THAT(ErrorOf([&] { CopyDataset(folder / "b", "s3://bkt/y"); })->sentence(),
             ContainsSubstring("remove the object sluice-copy.txt there"));
  CopyDataset(folder / "a", "s3://bkt/y");
  CHECK(VerifyDataset("s3://bkt/y").faults.empty());
}

TEST_CASE("A picture that is removed during its conversion is left out, and no other is") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures");
  Bucket bucket([](const WebRequest& request) -> std::optional<WebAnswer> {
    // Planning reads only the first 32 bytes. The picture still existed then.
    const bool whole =
        request.headers.count("range") == 0 || request.headers.at("range") != "bytes=0-31";
    if (whole && request.path.find("/cats/4 ") != std::string::npos)
      return S3ErrorAnswer(404, "NoSuchKey");
    return std::nullopt;
  });
  bucket.Fill(pictures, "pictures/");
  const ConvertSummary summary =
      Convert(fs::path("s3://bkt/pictures"), folder / "remote", SmallShards());
  CHECK(summary.samples == 39);
  std::map<std::string, std::string> reasons;
  for (const LeftOut& one : summary.skipped)
    reasons[one.path] = one.reason;
  REQUIRE(reasons.count("cats/4 +é.jpg") == 1);
  CHECK_THAT(reasons.at("cats/4 +é.jpg"), ContainsSubstring("was removed"));
}

TEST_CASE("An archived object of a bucket is left out, and the reason says so") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures", 40);
  Bucket bucket([](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.headers.count("range") > 0 && request.path.find("/cats/4 ") != std::string::npos)
      return S3ErrorAnswer(403, "InvalidObjectState");
    return std::nullopt;
  });
  bucket.Fill(pictures, "pictures/");
  const ConvertSummary summary =
      Convert(fs::path("s3://bkt/pictures"), folder / "remote", SmallShards());
  CHECK(summary.samples == 39);
  std::map<std::string, std::string> reasons;
  for (const LeftOut& one : summary.skipped)
    reasons[one.path] = one.reason;
  REQUIRE(reasons.count("cats/4 +é.jpg") == 1);
  CHECK_THAT(reasons.at("cats/4 +é.jpg"), ContainsSubstring("must be restored"));
}

TEST_CASE("A conversion from a bucket that refuses requests fails, and succeeds when repeated") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures", 60);
  Convert(pictures, folder / "local", SmallShards());
  std::atomic<int> reads = 0;
  std::atomic<bool> refuses = true;
  Bucket bucket([&](const WebRequest& request) -> std::optional<WebAnswer> {
    const bool whole =
        request.headers.count("range") > 0 && request.headers.at("range") != "bytes=0-31";
    if (whole && ++reads > 20 && refuses) return S3ErrorAnswer(403, "AccessDenied");
    return std::nullopt;
  });
  bucket.Fill(pictures, "pictures/");
  std::string text;
  try {
    Convert(fs::path("s3://bkt/pictures"), folder / "remote", SmallShards());
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK_THAT(text, ContainsSubstring("s3://bkt/pictures/"));
  CHECK_THAT(text, !ContainsSubstring("secret"));
  CHECK(!fs::exists(folder / "remote/manifest.json"));
  refuses = false;
  Convert(fs::path("s3://bkt/pictures"), folder / "remote", SmallShards());
  RequireSameFiles(folder / "local", folder / "remote");
}

TEST_CASE("A conversion from a bucket that does not answer stops at once") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures");
  std::atomic<bool> hangs = true;
  std::atomic<int> asked = 0;
  Bucket bucket([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.headers.count("range") == 0) return std::nullopt;
    ++asked;
    while (hangs)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return std::nullopt;
  });
  bucket.Fill(pictures, "pictures/");
  std::stop_source stop;
  std::atomic<bool> ended = false;
  std::atomic<bool> late = false;
  const std::jthread stopper([&] {
    while (asked == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop.request_stop();
    // Without the stop, the server would not answer for half a minute.
    for (int i = 0; i < 6000 && !ended; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    late = !ended;
    hangs = false;
  });
  ConvertHooks hooks;
  hooks.stop = stop.get_token();
  try {
    Convert(fs::path("s3://bkt/pictures"), folder / "remote", SmallShards(), hooks);
    FAIL("Convert() was not stopped");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kState);
  }
  ended = true;
  CHECK(!late);
}

TEST_CASE("A conversion reports progress while it searches a bucket") {
  Bucket bucket([](const WebRequest& request) -> std::optional<WebAnswer> {
    if (request.headers.count("range") > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
    return std::nullopt;
  });
  // 64 objects are read at a time, and a read takes 150 ms: 128 take longer than the 200 ms between
  // reports.
  for (int i = 0; i < 130; ++i)
    bucket->Set("x/" + std::to_string(i) + ".txt", "no picture");
  ConvertHooks hooks;
  std::uint64_t most = 0;
  hooks.on_look = [&](std::uint64_t looked_into, std::uint64_t found) {
    CHECK(found == 130);
    CHECK(looked_into <= found);
    most = std::max(most, looked_into);
  };
  const TemporaryFolder folder;
  CHECK_THROWS_AS(Convert(fs::path("s3://bkt/x"), folder / "dataset", {}, hooks), Error);
  CHECK(most >= 64);
}

TEST_CASE("Conversions that are impossible with a bucket are refused with advice") {
  const TemporaryFolder folder;
  Bucket bucket;
  const auto refusal = [&](const ConvertSource& source) {
    try {
      Convert(source, folder / "dataset", SmallShards());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* const inside : {"s3://bkt/pictures/x", "s3://bkt/pictures/"}) {
    try {
      Convert(fs::path("s3://bkt/pictures"), inside, SmallShards());
      FAIL("Convert() wrote into its source");
    } catch (const Error& error) {
      CHECK_THAT(error.what(), ContainsSubstring("inside the source folder"));
    }
  }
  setenv("TMPDIR", (folder / "no-such-folder").c_str(), 1);
  try {
    Convert(folder.path(), "s3://bkt/x", SmallShards());
    FAIL("Convert() needs no temporary folder");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), ContainsSubstring("set TMPDIR"));
  }
  unsetenv("TMPDIR");
  CHECK_THAT(refusal(fs::path("s3://bkt/nothing")), ContainsSubstring("s3://bkt/nothing"));
  CHECK_THAT(refusal(fs::path(bucket->plain_url())), ContainsSubstring("use s3:// or gs://"));
  for (const AnnotationFormat format : {AnnotationFormat::kYolo, AnnotationFormat::kDota}) {
    CHECK_THAT(refusal(ConvertSource::Annotated(format, folder.path(), "s3://bkt")),
               ContainsSubstring("local disk"));
  }
  CHECK_THAT(refusal(ConvertSource::Archives({"s3://bkt/a.tar"})),
             ContainsSubstring("s3://bkt/a.tar"));
  CHECK_THAT(refusal(ConvertSource::Paths({"s3://other/a.jpg"}, "s3://bkt/pictures")),
             ContainsSubstring("does not lie"));
}

namespace {

// The objects below a prefix, by the rest of their keys, as FilesOf() has files.
std::map<std::string, std::string> ObjectsBelow(Bucket& bucket, const std::string& prefix) {
  std::map<std::string, std::string> objects;
  for (const auto& [key, content] : bucket->All())
    if (key.starts_with(prefix)) objects[key.substr(prefix.size())] = content;
  return objects;
}

void RequireFilesAre(const fs::path& folder, const std::map<std::string, std::string>& objects) {
  const auto files = FilesOf(folder);
  for (const auto& [name, content] : objects) {
    INFO(name);
    CHECK(files.count(name) == 1);
  }
  for (const auto& [name, content] : files) {
    INFO(name);
    REQUIRE(objects.count(name) == 1);
    CHECK((objects.at(name) == content));
  }
}

// Several shards of raw images.
ConvertOptions RawShards() {
  ConvertOptions options;
  options.shards.shard_bytes = 1 << 20;
  options.form.image = ImageCodec::kRaw;
  options.geometry.max_side = 256;
  options.run.threads = 2;
  return options;
}

fs::path WriteLarge(const fs::path& folder, int count = 30) {
  for (int i = 0; i < count; ++i) {
    Write(folder / (i % 2 == 0 ? "a" : "b") / (std::to_string(i) + ".jpg"),
          MakeJpeg(MakePicture(256, 256, 3, std::uint64_t(i))));
  }
  Write(folder / "b/broken.jpg", AsBytes("\xff\xd8\xff\xe0 is no picture"));
  return folder;
}

}  // namespace

TEST_CASE("A conversion into a bucket writes a folder's files, in one call and in parts") {
  const TemporaryFolder folder;
  const fs::path pictures = WriteLarge(folder / "pictures");
  const ConvertSummary local = Convert(pictures, folder / "local", RawShards());
  REQUIRE(local.shards > 4);
  std::atomic<int> requests = 0;
  const bool fails = GENERATE(false, true);
  Bucket bucket([&](const WebRequest&) -> std::optional<WebAnswer> {
    if (!fails || requests++ % 3 != 2) return std::nullopt;
    return S3ErrorAnswer(503, "SlowDown");
  });
  const fs::path url = "s3://bkt/sets/x";
  const ConvertSummary whole = Convert(pictures, url, RawShards());
  CHECK(whole.samples == local.samples);
  CHECK(whole.skipped.size() == 1);
  CHECK(whole.bytes_out == local.bytes_out);
  RequireFilesAre(folder / "local", ObjectsBelow(bucket, "sets/x/"));
  // The dataset is finished already.
  CHECK(Convert(pictures, url, RawShards()).samples == local.samples);

  const fs::path parts = "s3://bkt/sets/parts";
  PlanConversion(pictures, parts, RawShards());
  CHECK(StatusOfConversion(parts).missing.size() == local.shards);
  ConvertPlanned(parts, {1, 3});
  const ConversionStatus status = StatusOfConversion(parts);
  CHECK(status.done > 0);
  CHECK(!status.finished);
  try {
    FinishConversion(parts);
    FAIL("FinishConversion() accepted the shards");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kUnfinished);
    CHECK_THAT(error.what(), ContainsSubstring("s3://bkt/sets/parts"));
    CHECK_THAT(error.what(), ContainsSubstring("planned shards are not there: 0, 2, 3, 5"));
  }
  ConvertPlanned(parts, {0, 3});
  CHECK(ConvertPlanned(parts, {2, 3}).found == 0);
  CHECK(ConvertPlanned(parts, {1, 2}).found > 1);  // the number of parts may change
  FinishConversion(parts);
  CHECK(StatusOfConversion(parts).finished);
  CHECK(ConvertPlanned(parts, {0, 3}).dataset_finished);
  CHECK(FinishConversion(parts).was_finished);
  RequireFilesAre(folder / "local", ObjectsBelow(bucket, "sets/parts/"));
}

TEST_CASE("Damaged shards in a bucket, and those of another plan, are named and made again") {
  const TemporaryFolder folder;
  const fs::path pictures = WriteLarge(folder / "pictures");
  Convert(pictures, folder / "local", RawShards());
  Bucket bucket;
  const fs::path url = "s3://bkt/x";
  PlanConversion(pictures, url, RawShards());
  ConvertPlanned(url, {});
  const auto change = [&](const std::string& name, const std::function<void(std::string&)>& how) {
    std::string content = *bucket->Content("x/" + name);
    how(content);
    bucket->Set("x/" + name, content);
  };
  change("shard-00000.sluice", [](std::string& content) { content[70] ^= 1; });
  change("shard-00001.sluice", [](std::string& content) { content.pop_back(); });
  change("shard-00002.made.json", [](std::string& content) {
    const std::size_t digit = content.find("\"plan\":\"") + 9;
    content[digit] = content[digit] == '0' ? '1' : '0';
  });
  change("shard-00003.made.json", [](std::string& content) { content.resize(content.size() / 2); });
  try {
    FinishConversion(url);
    FAIL("FinishConversion() accepted the shards");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kUnfinished);
    CHECK_THAT(
        error.what(),
        ContainsSubstring("damaged, not of this plan, or of sources that changed since: 0-3"));
  }
  CHECK(!bucket->Content("x/manifest.json"));
  ConvertPlanned(url, {});
  FinishConversion(url);
  RequireFilesAre(folder / "local", ObjectsBelow(bucket, "x/"));
}

TEST_CASE("A second plan for a URL is refused, and all concurrent calls for the first succeed") {
  const TemporaryFolder folder;
  const fs::path pictures = WriteLarge(folder / "pictures", 12);
  const fs::path others = WriteLarge(folder / "others", 14);
  Bucket bucket;
  const fs::path url = "s3://bkt/x";
  PlanConversion(pictures, url, RawShards());
  const auto code = [&](const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(ErrorCodeName(error.code()));
    }
    return std::string();
  };
  CHECK(code([&] { PlanConversion(others, url, RawShards()); }) == "exists");
  PlanConversion(pictures, url, RawShards());  // the same plan
  // Every part is made by two threads at once, then ten threads call FinishConversion().
  std::vector<std::future<std::string>> all;
  for (unsigned i = 0; i < 4; ++i) {
    all.push_back(std::async(std::launch::async, [&, i] {
      return code([&] { ConvertPlanned(url, {i % 2, 2}, {.threads = 1}); });
    }));
  }
  for (auto& one : all)
    CHECK(one.get() == "");
  all.clear();
  for (unsigned i = 0; i < 10; ++i)
    all.push_back(
        std::async(std::launch::async, [&] { return code([&] { FinishConversion(url, 1); }); }));
  for (auto& one : all)
    CHECK(one.get() == "");
  Convert(pictures, folder / "local", RawShards());
  RequireFilesAre(folder / "local", ObjectsBelow(bucket, "x/"));
  CHECK(code([&] { PlanConversion(others, url, RawShards()); }) == "exists");
  bucket->Set("y/mine.txt", "something else");
  CHECK(code([&] { Convert(pictures, fs::path("s3://bkt/y"), RawShards()); }) == "exists");
  CHECK(bucket->Content("y/mine.txt") == "something else");
}

namespace {

std::vector<std::byte> PixelsOf(const Batch& batch) {
  const auto* const first = reinterpret_cast<const std::byte*>(batch.image().data);
  return {first, first + batch.image().samples * batch.image().sample_bytes()};
}

std::vector<std::byte> EpochOf(const Dataset& dataset) {
  LoaderOptions options;
  options.batch_size = 4;
  options.threads = 2;
  options.transform = {RandomResizedCrop(32)};
  Loader loader(dataset, options);
  std::vector<std::byte> pixels;
  for (const Batch& batch : loader.Epoch(1)) {
    const std::vector<std::byte> more = PixelsOf(batch);
    pixels.insert(pixels.end(), more.begin(), more.end());
  }
  return pixels;
}

}  // namespace

TEST_CASE("Pictures in a bucket play without a conversion, in the same batches as in a folder") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures");
  fs::remove(pictures / "dogs/broken.jpg");
  std::atomic<int> requests = 0;
  Bucket bucket([&](const WebRequest&) -> std::optional<WebAnswer> {
    if (requests++ % 5 != 4) return std::nullopt;
    return S3ErrorAnswer(503, "SlowDown");
  });
  bucket.Fill(pictures, "pictures/");
  PlayOptions options;
  options.shards.block_samples = 4;
  options.index = folder / "index";
  const Dataset local = Dataset::Open(PlaySource(pictures, {.shards = options.shards}));
  for (int time = 0; time < 2; ++time) {  // the second time, the index lists the pictures
    const Dataset remote = Dataset::Open(PlaySource(fs::path("s3://bkt/pictures"), options));
    CHECK(remote.size() == 40);
    CHECK(remote.path() == "s3://bkt/pictures");
    CHECK((EpochOf(remote) == EpochOf(local)));
    CHECK(remote[3].key() == local[3].key());
  }
  bucket->Set("pictures/cats/2 +é.jpg", "another size");
  const Dataset changed = Dataset::Open(PlaySource(fs::path("s3://bkt/pictures"), options));
  const auto number = changed.Find("cats/2 +é.jpg");
  REQUIRE(number);
  const auto error = ErrorOf([&] { changed[*number].Payload(); });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("cats/2 +é.jpg") && ContainsSubstring("replaced"));
}

TEST_CASE("Pictures in a bucket are compiled while they are played") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures");
  fs::remove(pictures / "dogs/broken.jpg");
  std::atomic<int> requests = 0;
  Bucket bucket([&](const WebRequest&) -> std::optional<WebAnswer> {
    if (requests++ % 5 != 4) return std::nullopt;
    return S3ErrorAnswer(503, "SlowDown");
  });
  bucket.Fill(pictures, "pictures/");
  PlayOptions options;
  options.shards.block_samples = 4;
  const fs::path url = "s3://bkt/pictures";
  const auto expected = EpochOf(Dataset::Open(PlaySource(url, options)));
  options.compile_to = folder / "data";
  {
    const Dataset begun = Dataset::Open(PlaySource(url, options));  // stops at once
  }
  const std::shared_ptr<SampleSupply> supply = PlaySource(url, options);
  while (supply->work().compiled == 0 || !fs::exists(folder / "data" / kManifestName))
    REQUIRE((EpochOf(Dataset::Open(supply)) == expected));
  REQUIRE((EpochOf(Dataset::Open(supply)) == expected));
  ConvertOptions convert;
  convert.form.keep = true;
  convert.geometry.max_side.reset();
  convert.shards = options.shards;
  Convert(url, folder / "converted", convert);
  RequireSameFiles(folder / "data", folder / "converted");
}

TEST_CASE("A loader that waits for a silent bucket stops soon") {
  const TemporaryFolder folder;
  const fs::path pictures = WritePictures(folder / "pictures");
  std::atomic<bool> silent = false;
  std::atomic<bool> over = false;
  Bucket bucket([&](const WebRequest&) -> std::optional<WebAnswer> {
    while (silent && !over)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return std::nullopt;
  });
  bucket.Fill(pictures, "pictures/");
  const Dataset remote = Dataset::Open(PlaySource(fs::path("s3://bkt/pictures")));
  silent = true;
  auto stopped = std::async(std::launch::async, [&remote] {
    LoaderOptions options;
    options.batch_size = 4;
    options.threads = 2;
    options.transform = {RandomResizedCrop(32)};
    Loader loader(remote, options);
    loader.Epoch(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  // The server stays silent until this has been checked.
  CHECK(stopped.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  over = true;
}

}  // namespace sluice::test
