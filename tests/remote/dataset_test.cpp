// Datasets at a URL of an HTTP server: opened, played, copied, edited and verified.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include <sluice/copy.h>
#include <sluice/dataset.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/verify.h>

#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/remote/web_server.h"

namespace sluice::test {
namespace {

WebAnswer Status(int status) {
  WebAnswer answer;
  answer.status = status;
  return answer;
}

// Serves a folder with ranges and etags. Every `fails`-th request fails; 0: none fails.
WebServer::Handler Serving(const std::filesystem::path& folder, std::uint64_t fails = 0) {
  return [folder, fails](const WebRequest& request) {
    WebAnswer answer;
    const std::string file = folder.string() + request.path;
    if (!std::filesystem::is_regular_file(file)) return Status(404);
    if (fails > 0 && request.number % fails == fails - 1) return Status(503);
    std::string content = ContentOf(file);
    const std::string etag =
        "\"" + std::to_string(std::filesystem::last_write_time(file).time_since_epoch().count()) +
        "-" + std::to_string(content.size()) + "\"";
    answer.headers["ETag"] = etag;
    if (request.headers.count("if-match") > 0 && request.headers.at("if-match") != etag)
      return Status(412);
    if (request.headers.count("range") > 0) {
      std::uint64_t first = 0;
      std::uint64_t last = 0;
      if (std::sscanf(request.headers.at("range").c_str(), "bytes=%lu-%lu", &first, &last) != 2 ||
          last >= content.size()) {
        return Status(416);
      }
      answer.status = 206;
      answer.headers["Content-Range"] = "bytes " + std::to_string(first) + "-" +
                                        std::to_string(last) + "/" + std::to_string(content.size());
      content = content.substr(first, last - first + 1);
    }
    answer.body = request.method == "HEAD" ? std::string() : content;
    if (request.method == "HEAD") return Status(405);
    return answer;
  };
}

// Serves the folder, but flips a bit of this byte of the shard in the first answer that contains
// it.
WebServer::Handler FlippingOnce(const std::filesystem::path& folder, std::uint64_t at) {
  return [serve = Serving(folder), at,
          flipped = std::make_shared<std::atomic<bool>>(false)](const WebRequest& request) {
    WebAnswer answer = serve(request);
    std::uint64_t first = 0;
    const auto range = answer.headers.find("Content-Range");
    if (range == answer.headers.end() || request.path.find(".sluice") == std::string::npos)
      return answer;
    std::sscanf(range->second.c_str(), "bytes %lu", &first);
    if (first <= at && at < first + answer.body.size() && !flipped->exchange(true))
      answer.body[at - first] = static_cast<char>(answer.body[at - first] ^ 8);
    return answer;
  };
}

}  // namespace

TEST_CASE("a dataset at a URL plays the batches of the local one, also with failing requests") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 100);
  const WebServer server(Serving(folder.path(), 9));
  LoaderOptions options = OptionsFor(7, 2);
  options.transform = {RandomResizedCrop(32), HorizontalFlip()};
  options.order.lanes = 4;
  Loader local(Dataset::Open(path), options);
  Loader remote(Dataset::Open(server.origin() + "/jpeg"), options);
  CHECK(PlayBatches(remote, 0) == PlayBatches(local, 0));
  CHECK(remote.Stats().repeated_requests > 0);
}

TEST_CASE("a dataset at a URL is verified, split, merged and copied") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 60);
  const WebServer server(Serving(folder.path()));
  const std::string url = server.origin() + "/jpeg";
  const VerifyReport report = VerifyDataset(url);
  CHECK(report.faults.empty());
  CHECK(report.samples == 60);
  CHECK(Dataset::Open(url + "/manifest.json").size() == 60);
  CopyDataset(url, folder / "copy");
  for (const auto& file : std::filesystem::directory_iterator(path))
    CHECK(ContentOf(file.path()) == ContentOf(folder / "copy" / file.path().filename().string()));
  Selection selection;
  selection.samples = {3, 5, 50};
  SubsetDataset(url, folder / "subset", selection);
  CHECK(Dataset::Open(folder / "subset").size() == 3);
  CHECK(Dataset::Open(folder / "subset")[2].key() == "photo-50");
  MergeDatasets({url}, folder / "merged");
  CHECK(VerifyDataset(folder / "merged").faults.empty());
  CHECK(Dataset::Open(folder / "merged").size() == 60);
}

TEST_CASE("an older manifest at a URL is a dataset, to be opened, played, copied and edited") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 60);
  const std::string id = Dataset::Open(path).id();
  std::filesystem::rename(path / "manifest.json", path / ("manifest-" + id + ".json"));
  const WebServer server(Serving(folder.path()));
  const std::string old = server.origin() + "/jpeg/manifest-" + id + ".json";
  const Dataset dataset = Dataset::Open(old);
  CHECK(dataset.id() == id);
  CHECK(dataset.path() == old);
  CHECK(dataset[7].key() == "photo-7");
  CHECK(VerifyDataset(old).faults.empty());
  CopyDataset(old, folder / "copy");
  CHECK(Dataset::Open(folder / "copy").id() == id);
  MergeDatasets({old}, folder / "merged");
  CHECK(Dataset::Open(folder / "merged").size() == 60);
}

TEST_CASE("a copy has the manifest that chose its shards, although another one replaced it") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 60);
  const std::string text = ContentOf(path / "manifest.json");
  CopyOptions options;
  options.on_progress = [&](std::uint64_t, std::uint64_t) {
    std::ofstream(path / "manifest.json") << "{}";
  };
  CopyDataset(path, folder / "copy", options);
  CHECK(ContentOf(path / "manifest.json") == "{}");
  CHECK(ContentOf(folder / "copy/manifest.json") == text);
}

TEST_CASE("a bit that flips once on its way from a URL is not a fault for verify or an edit") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 64);
  const std::uint64_t size = Dataset::Open(path).shards()[0].bytes;
  // In a payload, in the first block's table, and in the tail.
  for (const std::uint64_t at : {size / 2, std::uint64_t{4096 + 80}, size - 40}) {
    INFO("byte " << at << " of " << size);
    const auto url = [](const WebServer& server) { return server.origin() + "/larger"; };
    {
      const WebServer server(FlippingOnce(folder.path(), at));
      CHECK(VerifyDataset(url(server)).faults.empty());
    }
    {
      const WebServer server(FlippingOnce(folder.path(), at));
      const std::filesystem::path to = folder / ("subset-" + std::to_string(at));
      Selection all;
      for (std::uint64_t sample = 0; sample < 64; ++sample)
        all.samples.push_back(sample);
      SubsetDataset(url(server), to, all);
      const Dataset subset = Dataset::Open(to);
      REQUIRE(subset.size() == 64);
      for (std::uint64_t sample = 0; sample < 64; ++sample)
        CHECK(subset[sample].Decode().pixels[0] == sample);
    }
  }
}

TEST_CASE("a shard at a URL that is replaced while it is open is a fault that says so") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 320);
  const WebServer server(Serving(folder.path()));
  const Dataset dataset = Dataset::Open(server.origin() + "/larger");
  (void)dataset[0].Payload();
  const auto shard = path / dataset.shards()[0].file;
  std::filesystem::last_write_time(
      shard, std::filesystem::last_write_time(shard) + std::chrono::seconds(5));
  const std::string text = ErrorText([&] { (void)dataset[319].Payload(); }, ErrorCode::kIo);
  CHECK(text.find("replaced") != std::string::npos);
}

TEST_CASE("a URL without a dataset gives an error that says so") {
  const TemporaryFolder folder;
  const WebServer server(Serving(folder.path()));
  const std::string text =
      ErrorText([&] { Dataset::Open(server.origin() + "/none"); }, ErrorCode::kNotFound);
  CHECK(text.find("there is no dataset here") != std::string::npos);
}

}  // namespace sluice::test
