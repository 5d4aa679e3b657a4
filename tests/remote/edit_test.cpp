// Datasets that are changed in an object store: columns, versions and deleted samples.
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>

#include <sluice/copy.h>
#include <sluice/dataset.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/reader/sample_data.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/racing.h"
#include "tests/temporary_folder.h"

namespace sluice::test {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr const char* kUrl = "s3://bkt/set";

// A dataset of 40 samples at kUrl, and in a folder.
struct StoredTwice {
  explicit StoredTwice(BucketServer::Fault fault = nullptr) : server(std::move(fault)) {
    CopyDataset(local, kUrl);
  }
  // The object's text; REQUIREs that it is there.
  std::string Content(const std::string& name) const {
    const std::optional<std::string> content = server.Content("set/" + name);
    REQUIRE(content);
    return *content;
  }

  TemporaryFolder folder;
  const std::filesystem::path local = WriteRawDataset(folder, 40);
  BucketServer server;
  StoreEnvironment environment{server.Variables()};
};

// A score for each of 40 samples.
std::array<float, 40> Scores() {
  std::array<float, 40> scores{};
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] = static_cast<float>(i);
  return scores;
}

// The same, as Dataset::Column() gives them after this sample was deleted.
std::array<float, 40> Without(std::size_t sample) {
  std::array<float, 40> scores = Scores();
  scores[sample] = 0;
  return scores;
}

VersionSummary AddScores(const std::filesystem::path& dataset, const std::array<float, 40>& scores,
                         const std::string& note = {}) {
  ColumnOptions options;
  options.note = note;
  return AddColumn(
      dataset, {Field::Array("score", DType::kFloat32, {}), std::as_bytes(std::span(scores)), {}},
      options);
}

std::vector<std::byte> BytesOfScores(const std::array<float, 40>& scores) {
  const auto bytes = std::as_bytes(std::span(scores));
  return {bytes.begin(), bytes.end()};
}

// What `sluice log` says of each version.
std::vector<std::string> History(const std::filesystem::path& dataset) {
  std::vector<std::string> history;
  for (const DatasetVersion& version : ListVersions(dataset)) {
    std::string line = version.by + " \"" + version.note + "\"";
    for (const std::string& change : version.changes)
      line += ", " + change;
    for (const std::string& tag : version.tags)
      line += " [" + tag + "]";
    history.push_back(line);
  }
  return history;
}

bool IsManifest(const WebRequest& request) {
  return request.method == "PUT" && request.path == "/bkt/set/manifest.json";
}

}  // namespace

TEST_CASE("A dataset at a URL is changed as one in a folder is") {
  const auto if_match =
      GENERATE(BucketServer::IfMatch::kCompared, BucketServer::IfMatch::kComparedBare);
  StoredTwice data;
  data.server.SetIfMatch(if_match);
  const std::string first = Dataset::Open(data.local).id();
  for (const std::filesystem::path& dataset : {data.local, std::filesystem::path(kUrl)}) {
    TagVersion(dataset, "v1");
    AddScores(dataset, Scores(), "first try");
    DeleteSamples(dataset, {.samples = {}, .keys = {"key-7"}, .note = "asked for"});
    TagVersion(dataset, "scored");
    DropFields(dataset, {"score"});
    RestoreVersion(dataset, "v1", "as before");
  }
  CHECK(History(kUrl) == History(data.local));
  CHECK(History(kUrl).size() == 5);
  const Dataset tagged = Dataset::Open(std::string(kUrl) + "/manifest-scored.json");
  CHECK(tagged.Column("score") == BytesOfScores(Without(7)));
  CHECK(tagged.IsDeleted(7));
  CHECK(Dataset::Open(std::string(kUrl) + "/manifest-v1.json").id() == first);

  const OldVersions would = RemoveOldVersions(kUrl, 0, false);
  CHECK(would.files == RemoveOldVersions(data.local, 0, false).files);
  CHECK(would.versions.size() == 2);
  CHECK(History(kUrl).size() == 5);
  RemoveOldVersions(kUrl, 0, true);
  CHECK(ListVersions(kUrl).size() == 3);
  CHECK(tagged.Column("score") == BytesOfScores(Without(7)));
  std::size_t probes = 0;
  for (const auto& object : data.server.All())
    probes += object.first.find("probe") != std::string::npos ? 1 : 0;
  CHECK(probes == 0);
}

TEST_CASE("gc at a URL removes shards that only old versions name") {
  StoredTwice data;
  const auto before = data.server.All();
  AddScores(kUrl, Scores());
  DropFields(kUrl, {"score"});
  CHECK(data.server.All().size() == before.size() + 3);
  CHECK(RemoveOldVersions(kUrl, 1, true).versions.empty());  // the versions are minutes old
  const OldVersions gone = RemoveOldVersions(kUrl, 0, true);
  CHECK(gone.versions.size() == 2);
  REQUIRE(gone.files.size() == 1);
  CHECK_FALSE(before.contains("set/" + gone.files[0]));
  CHECK(data.server.All().size() == before.size());
}

TEST_CASE("A store that ignores conditions is refused, and nothing is changed there") {
  StoredTwice data;
  data.server.SetIfMatch(BucketServer::IfMatch::kIgnored);
  const auto before = data.server.All();
  const auto error = ErrorOf([&] { AddScores(kUrl, Scores()); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK_THAT(error->what(), ContainsSubstring("If-Match") && ContainsSubstring("`sluice copy`"));
  CHECK(data.server.All() == before);
}

TEST_CASE("A plain server's dataset is not changed") {
  StoredTwice data;
  const std::string url = data.server.plain_url() + "/set";
  CHECK(CodeOf([&] { AddScores(url, Scores()); }) == ErrorCode::kUnsupported);
  CHECK(CodeOf([&] { TagVersion(url, "v1"); }) == ErrorCode::kUnsupported);
  CHECK(CodeOf([&] { ListVersions(url); }) == ErrorCode::kUnsupported);
  CHECK(CodeOf([&] { RemoveOldVersions(url, 0, true); }) == ErrorCode::kUnsupported);
}

TEST_CASE("A change whose answer is lost or wrong is made once") {
  // What becomes of the first request that writes the manifest.
  enum Fate { kServedAndCut, kServedAndFailed, kCut, kFailed, kConflict };
  const auto fate = GENERATE(kServedAndCut, kServedAndFailed, kCut, kFailed, kConflict);
  const auto if_match =
      GENERATE(BucketServer::IfMatch::kCompared, BucketServer::IfMatch::kComparedBare);
  CAPTURE(fate);
  BucketServer* self = nullptr;
  std::atomic<bool> armed = false;
  StoredTwice data([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (!IsManifest(request) || !armed.exchange(false)) return std::nullopt;
    WebAnswer answer;
    if (fate == kServedAndCut || fate == kServedAndFailed) answer = self->Serve(request);
    if (fate == kServedAndCut || fate == kCut) answer.cut_after = 0;
    if (fate == kServedAndFailed || fate == kFailed) answer = S3ErrorAnswer(500, "InternalError");
    if (fate == kConflict) answer = S3ErrorAnswer(409, "ConditionalRequestConflict");
    return answer;
  });
  self = &data.server;
  data.server.SetIfMatch(if_match);
  armed = true;
  const VersionSummary made = AddScores(kUrl, Scores());
  CHECK_FALSE(armed);
  CHECK(Dataset::Open(kUrl).id() == made.id);
  CHECK(Dataset::Open(kUrl).Column("score") == BytesOfScores(Scores()));
  CHECK(ListVersions(kUrl).size() == 2);
}

TEST_CASE("A writer that comes second changes nothing, and is told to begin again") {
  BucketServer* self = nullptr;
  std::string theirs;
  StoredTwice data([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (IsManifest(request) && !theirs.empty()) self->Set("set/manifest.json", theirs);
    return std::nullopt;
  });
  self = &data.server;
  const std::string mine = data.Content("manifest.json");
  DeleteSamples(kUrl, {.samples = {3}, .keys = {}, .note = {}});
  theirs = data.Content("manifest.json");
  data.server.Set("set/manifest.json", mine);
  const auto before = data.server.All();

  const auto error = ErrorOf([&] { AddScores(kUrl, Scores()); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kState);
  CHECK_THAT(error->what(), ContainsSubstring("another program has changed the dataset") &&
                                ContainsSubstring("run the same command again"));
  auto after = data.server.All();
  CHECK(after.at("set/manifest.json") == theirs);
  after["set/manifest.json"] = mine;
  CHECK(after == before);  // its shard is gone, too

  theirs.clear();
  AddScores(kUrl, Scores());
  CHECK(Dataset::Open(kUrl).IsDeleted(3));
  CHECK(Dataset::Open(kUrl).Column("score") == BytesOfScores(Without(3)));
}

TEST_CASE("A change on which another was built before its answer was lost is made") {
  BucketServer* self = nullptr;
  std::atomic<bool> armed = false;
  StoredTwice data([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (!IsManifest(request) || !armed.exchange(false)) return std::nullopt;
    WebAnswer answer = self->Serve(request);
    DeleteSamples(kUrl, {.samples = {3}, .keys = {}, .note = {}});
    answer.cut_after = 0;
    return answer;
  });
  self = &data.server;
  armed = true;
  const VersionSummary made = AddScores(kUrl, Scores());
  const std::vector<DatasetVersion> versions = ListVersions(kUrl);
  REQUIRE(versions.size() == 3);
  CHECK(versions[1].id == made.id);
  CHECK(Dataset::Open(kUrl).Column("score").size() == 40 * 4);
}

TEST_CASE(
    "Of two programs that change a dataset at a URL at once, none undoes what the other did") {
  const bool cuts = GENERATE(false, true);
  BucketServer* self = nullptr;
  std::atomic<unsigned> puts = 0;
  BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
    if (!cuts || request.method != "PUT" || puts++ % 3 != 0) return std::nullopt;
    WebAnswer answer = self->Serve(request);
    answer.cut_after = 0;
    return answer;
  });
  self = &server;
  const StoreEnvironment environment(server.Variables());
  const TemporaryFolder folder;
  const std::filesystem::path data = WriteRawDataset(folder, 40);
  for (int i = 0; i < 10; ++i) {
    const std::string url = "s3://bkt/race" + std::to_string(i);
    CopyDataset(data, url);
    RaceDeletions(url);
  }
}

}  // namespace sluice::test
