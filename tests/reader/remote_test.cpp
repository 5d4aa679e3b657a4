// Datasets in an object store (simulated by local files): the same batches as from disk, what is
// fetched, and faults.
#include <algorithm>
#include <fstream>

#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/remote_dataset.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

LoaderOptions Cropping(std::size_t batch_size, unsigned threads) {
  LoaderOptions options = OptionsFor(batch_size, threads);
  options.transform = {RandomResizedCrop(32), HorizontalFlip()};
  options.seed = 11;
  options.order.lanes = 4;
  options.order.window_bytes = 60'000;
  return options;
}

// Every batch of two epochs.
std::vector<PlayedBatch> Play(const Dataset& dataset, const LoaderOptions& options) {
  Loader loader(dataset, options);
  std::vector<PlayedBatch> played = PlayBatches(loader, 0);
  for (PlayedBatch& batch : PlayBatches(loader, 1))
    played.push_back(std::move(batch));
  return played;
}

// Takes no requests while `refuses` is set, like a store's thread after a fork.
struct RefusingStore : LocalStore {
  using LocalStore::LocalStore;
  std::uint64_t Read(RangeRead read) override {
    if (refuses) throw Error(ErrorCode::kState, "takes no requests now");
    return LocalStore::Read(std::move(read));
  }
  std::atomic<bool> refuses{false};
};

constexpr SlowLink kBadLink{2ms, 200'000'000, 0.1, 16};

}  // namespace

TEST_CASE("the error of a wrong simulated link names the member that is wrong", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 1);
  const auto refusal = [&](const SlowLink& link) {
    return ErrorText([&] { OpenRemote(path, link); }, ErrorCode::kInvalidArgument);
  };
  CHECK(refusal({.errors = 1}) == "SlowLink::errors must be at least 0 and below 1");
  CHECK(refusal({.connections = 0}) == "SlowLink::connections must be at least 1");
}

TEST_CASE("a sample of a dataset in an object store has the values of the local one", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 60);
  const Dataset local = Dataset::Open(path);
  const Dataset remote = OpenRemote(path, kBadLink);
  REQUIRE(remote.size() == local.size());
  CHECK(remote.id() == local.id());
  for (const std::uint64_t i : {0u, 59u, 7u, 8u, 9u, 30u}) {
    CHECK(remote[i].key() == local[i].key());
    CHECK(remote[i].Integer("label") == local[i].Integer("label"));
    CHECK(remote[i].Decode().pixels == local[i].Decode().pixels);
  }
  CHECK(remote.Find("photo-41") == 41u);
  CHECK(remote.LookAtShards().shards == 0);
}

TEST_CASE("a block that cannot be requested is an error each time, until it can be", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 60);
  const auto store = std::make_shared<RefusingStore>(path);
  const Dataset remote = DatasetOf(DatasetState::Open(store));
  store->refuses = true;
  for (int attempt = 0; attempt < 2; ++attempt)
    CHECK(ErrorText([&] { remote[50].Decode(); }, ErrorCode::kState).find("no requests") !=
          std::string::npos);
  store->refuses = false;
  CHECK(remote[50].Decode().pixels == Dataset::Open(path)[50].Decode().pixels);
}

TEST_CASE("a sample keeps its block, however many others are read meanwhile", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 1600);  // 20 MB
  const auto store = std::make_shared<LocalStore>(path);
  const auto state = DatasetState::Open(store);
  const Dataset dataset = DatasetOf(state);
  const Sample first = dataset[0];
  const ImagePayload payload = first.Payload();
  const std::vector<std::byte> before(payload.bytes.begin(), payload.bytes.end());
  for (std::uint64_t i = 0; i < dataset.size(); i += 16)
    (void)dataset[i].Payload();
  CHECK(std::equal(before.begin(), before.end(), payload.bytes.begin()));
}

TEST_CASE("a dataset in an object store plays the batches of the local one, to the byte",
          "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 150);
  const Dataset local = Dataset::Open(path);
  LoaderOptions options = Cropping(7, 2);
  SECTION("quasi-random, one thread") {
    options.threads = 1;
  }
  SECTION("quasi-random, four threads") {
    options.threads = 4;
  }
  SECTION("sequential") {
    options.order.shuffle = Shuffle::kSequential;
  }
  SECTION("random") {
    options.order.shuffle = Shuffle::kRandom;
  }
  SECTION("a subset, in quasi-random order") {
    options.order.samples = SampleList::Of({3, 5, 7, 100, 101, 102, 140, 9, 10, 11, 12, 60, 61});
  }
  SECTION("a subset, in its own order") {
    options.order.samples = SampleList::Of({140, 3, 99, 5, 5, 100, 101, 7, 20, 21, 23, 22});
    options.order.shuffle = Shuffle::kSequential;
  }
  SECTION("the second of two ranks") {
    options.ranks = {.rank = 1, .world_size = 2};
  }
  SECTION("a single rank that gets whole shards") {
    options.ranks = {.rank = 0, .world_size = 1, .by_shards = true};
  }
  SECTION("kept pictures") {
    options.transform = {Resize(32, 32)};
    options.keep = DecodedPictures{10'000'000, {}};
  }
  SECTION("labels alone") {
    options.transform = {};
    options.output.fields = {"label"};
    Loader ours(local, options);
    Loader theirs(OpenRemote(path, kBadLink), options);
    auto other = theirs.Epoch(0).begin();
    for (const Batch& batch : ours.Epoch(0)) {
      const auto a = batch.Field<std::int32_t>("label");
      const auto b = other->Field<std::int32_t>("label");
      CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
      ++other;
    }
    return;
  }
  CHECK(Play(OpenRemote(path, kBadLink), options) == Play(local, options));
}

TEST_CASE("payloads that no batch needs are not fetched", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 640);  // 8 MB
  LoaderOptions options = OptionsFor(32, 2);
  options.order.lanes = 4;
  options.order.window_bytes = 1'000'000;
  SECTION("labels alone") {
    options.output.fields = {"label"};
    Loader loader(OpenRemote(path), options);
    Loader local(Dataset::Open(path), options);
    auto other = local.Epoch(0).begin();
    for (const Batch& batch : loader.Epoch(0)) {
      const auto a = batch.Field<std::int32_t>("label");
      const auto b = other->Field<std::int32_t>("label");
      CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
      ++other;
    }
    CHECK(loader.Stats().fetched_bytes < 1'000'000);
  }
  SECTION("rows that are kept") {
    // Raw pictures are not kept, but rows that a deterministic function made are.
    options.sample_function = [](MutableSample&) {};
    options.keep = DecodedPictures{10'000'000, {}, true};
    if (GENERATE(false, true)) options.keep->folder = folder.path().string();
    Loader loader(OpenRemote(path), options);
    Loader local(Dataset::Open(path), options);
    CHECK(PlayBatches(loader, 0) == PlayBatches(local, 0));
    PlayBatches(loader, 1);  // its blocks were read ahead before all rows were kept
    const std::uint64_t before = loader.Stats().read_ahead_bytes;
    CHECK(before > 7'000'000);
    CHECK(PlayBatches(loader, 2) == PlayBatches(local, 2));
    CHECK(loader.Stats().read_ahead_bytes < before + 1'000'000);
  }
}

TEST_CASE("a remote epoch continues where another loader stopped", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 120);
  LoaderOptions options = Cropping(5, 2);
  Loader whole(Dataset::Open(path), options);
  const std::vector<PlayedBatch> all = PlayBatches(whole, 0);
  Loader first(OpenRemote(path, kBadLink), options);
  REQUIRE(PlayBatches(first, 0, 9).size() == 9);
  options.resume_from = first.State();
  Loader second(OpenRemote(path, kBadLink), options);
  const std::vector<PlayedBatch> rest = PlayBatches(second, 0);
  CHECK(std::vector(all.begin() + 9, all.end()) == rest);
}

TEST_CASE("a remote loader can be stopped and begin other epochs at any time", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 150);
  const LoaderOptions options = Cropping(7, 2);
  Loader local(Dataset::Open(path), options);
  const std::vector<PlayedBatch> expected = PlayBatches(local, 5);
  const Dataset dataset = OpenRemote(path, {5ms, 50'000'000, 0.1, 16});
  for (std::size_t batches = 0; batches < 4; ++batches) {
    Loader loader(dataset, options);
    PlayBatches(loader, batches, batches);
    PlayBatches(loader, 0, 1);
    CHECK(PlayBatches(loader, 5) == expected);
  }
}

TEST_CASE("a loader holds no more of a remote dataset than Memory() says", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 12'000);  // 148 MB in two shards
  const auto state = DatasetState::Open(
      std::make_shared<SlowStore>(std::make_shared<LocalStore>(path), SlowLink{1ms, 0, 0, 16}));
  LoaderOptions options = OptionsFor(32, 2);
  options.order.lanes = 4;
  options.order.window_bytes = 4'000'000;
  options.storage = Mapped{std::uint64_t{4} << 20};
  Loader loader(DatasetOf(state), options);
  const std::uint64_t bound = loader.Memory().blocks;
  REQUIRE(bound < 100'000'000);
  std::uint64_t most = 0;
  for (const std::uint64_t epoch : {0, 1})
    for (const Batch& batch : loader.Epoch(epoch))
      most = std::max(most, (void(batch), state->table.remote->allocated()));
  CHECK(most <= bound);
  CHECK(most > 4'000'000);
}

TEST_CASE("a missing remote shard is a fault that names its URL", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteRawDataset(folder, 12'000);  // in several shards
  const Dataset local = Dataset::Open(path);
  REQUIRE(local.shards().size() > 1);
  const std::string file = local.shards()[1].file;
  std::filesystem::remove(path / file);
  const Dataset dataset = OpenRemote(path);
  const ShardFaults faults = dataset.LookAtShards();
  CHECK(faults.shards == 1);
  CHECK(faults.faulty[1]);
  LoaderOptions options = OptionsFor(100, 2);
  SECTION("an error") {
    Loader loader(dataset, options);
    const std::string text = ErrorText([&] { PlayBatches(loader, 0); }, ErrorCode::kNotFound);
    CHECK(text.find((path / file).string()) != std::string::npos);
    CHECK(text.find("bring it back") != std::string::npos);
  }
  SECTION("or skipped") {
    options.integrity.on_fault = OnFault::kSkip;
    Loader loader(dataset, options);
    CHECK(SamplesOf(PlayBatches(loader, 0)).size() == local.size() - local.shards()[1].samples);
    CHECK(loader.Faults().size() == 1);
  }
  SECTION("or replaced by others") {
    options.integrity.on_fault = OnFault::kSubstitute;
    Loader loader(dataset, options);
    CHECK(SamplesOf(PlayBatches(loader, 0)).size() == local.size());
  }
}

TEST_CASE("a remote shard that is replaced while it is played is an error, never a mix of both",
          "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 640);
  const Dataset dataset = OpenRemote(path);
  const std::string file = dataset.shards()[0].file;
  (void)dataset[0].Payload();
  // The same bytes except one in the middle, as another file.
  std::filesystem::copy_file(path / file, path / "new");
  std::fstream(path / "new").seekp(4'000'000).put('!');
  std::filesystem::rename(path / "new", path / file);
  const std::string text = ErrorText([&] { (void)dataset[600].Payload(); }, ErrorCode::kIo);
  CHECK(text.find("replaced") != std::string::npos);
}

TEST_CASE("damage in a remote shard is found as in a local one", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 64);
  const std::string file = Dataset::Open(path).shards()[0].file;
  std::fstream(path / file).seekp(100'000).put('!');
  LoaderOptions options = OptionsFor(8, 1);
  options.integrity = {Verify::kAlways, OnFault::kSkip};
  Loader loader(OpenRemote(path), options);
  CHECK(SamplesOf(PlayBatches(loader, 0)).size() == 63);
  CHECK(loader.Faults().size() == 1);
}

TEST_CASE("a step that waits longer than the timeout throws, and the next one continues",
          "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteJpegDataset(folder, 40);
  LoaderOptions options = Cropping(8, 1);
  Loader local(Dataset::Open(path), options);
  const std::vector<PlayedBatch> expected = PlayBatches(local, 0);
  options.timeout = 20ms;
  // On a busy machine this thread may ask only after the batch has come, and then no step waits. In
  // that case the loop tries again with a store four times as slow.
  std::string text;
  for (std::chrono::milliseconds delay = 100ms; text.empty(); delay *= 4) {
    REQUIRE(delay < 10min);
    Loader loader(OpenRemote(path, {delay, 0, 0, 16}), options);
    const EpochRange epoch = loader.Epoch(0);
    std::vector<PlayedBatch> played;
    for (bool ended = false; !ended;) {
      try {
        auto at = epoch.begin();
        ended = at == epoch.end();
        if (!ended) played.push_back(Keep(*at));
      } catch (const Error& error) {
        REQUIRE(error.code() == ErrorCode::kIo);
        text = error.what();
      }
    }
    CHECK(played == expected);
  }
  CHECK(text.find("no batch came within 20 ms") != std::string::npos);
}

TEST_CASE("options for files are refused for a dataset at a URL", "[remote]") {
  const TemporaryFolder folder;
  const Dataset dataset = OpenRemote(WriteRawDataset(folder, 20));
  LoaderOptions options = OptionsFor(4, 1);
  options.storage = Direct{};
  ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument);
  options.storage = Locked{};
  ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument);
}

TEST_CASE("a store without the dataset says so", "[remote]") {
  const TemporaryFolder folder;
  const std::string text = ErrorText([&] { OpenRemote(folder.path()); }, ErrorCode::kNotFound);
  CHECK(text.find("there is no dataset here") != std::string::npos);
}
