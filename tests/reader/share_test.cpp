// LoaderOptions::share: rows that one loader makes and others copy. The batches must be those of a
// loader alone, whichever other processes play, end or are killed.
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/play_source.h>

#include "reader/reading/memory.h"
#include "reader/reading/shared_row_cache.h"
#include "tests/file_content.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/reader/shared_playing.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;
using Found = SharedRowCache::Found;

constexpr std::uint64_t kRoomy = 4'000'000;

LoaderOptions Sharing(const TemporaryFolder& folder, std::uint64_t bytes = kRoomy) {
  LoaderOptions options = SharingOptions();
  options.share = SharedRows{bytes, folder.path().string()};
  return options;
}

std::vector<std::filesystem::path> StoresIn(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> stores;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("sluice-rows-"))
      stores.push_back(entry.path());
  return stores;
}

std::vector<PlayedBatch> Alone(const Dataset& dataset, LoaderOptions options, std::uint64_t epoch) {
  options.share.reset();
  Loader loader(dataset, options);
  return PlayBatches(loader, epoch);
}

// Plays an epoch with all loaders at once.
std::vector<std::vector<PlayedBatch>> PlayTogether(const std::vector<Loader*>& loaders,
                                                   std::uint64_t epoch) {
  std::vector<std::vector<PlayedBatch>> played(loaders.size());
  std::vector<std::thread> threads;
  for (std::size_t l = 0; l < loaders.size(); ++l)
    threads.emplace_back([&, l] { played[l] = PlayBatches(*loaders[l], epoch); });
  for (std::thread& thread : threads)
    thread.join();
  return played;
}

// A row store of `places` rows of one word.
std::unique_ptr<SharedRowCache> SmallStore(const TemporaryFolder& folder, std::uint64_t places) {
  return std::make_unique<SharedRowCache>(folder.path(), Id128{}, 4096 + 128 * places, 8, 100);
}

Found TakeFrom(SharedRowCache& store, const SharedRowCache::RowName& name,
               std::uint64_t* value = nullptr) {
  std::uint64_t read = 0;
  const Found found =
      store.Take(name, [&](SharedRowCache::Reader& from) { from.Get(&read, sizeof read); });
  if (value != nullptr) *value = read;
  return found;
}

void PutInto(SharedRowCache& store, const SharedRowCache::RowName& name, std::uint64_t value) {
  store.Put(name, [&](SharedRowCache::Writer& to) { to.Put(&value, sizeof value); });
}

}  // namespace

TEST_CASE("Loaders that share rows deliver the batches of a loader alone") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 150));
  LoaderOptions options = Sharing(folder);
  SECTION("of one view") {}
  SECTION("normalized, planar, with mixed labels and several sizes") {
    options.transform.push_back(Normalize());
    options.transform.push_back(OneHot());
    options.transform.push_back(MixUp(0.3));
    options.output.layout = Layout::kNCHW;
    options.sizes = {{0, 24, 24}, {1, 32, 32}};
  }
  SECTION("of two views") {
    options.views = {{"small", {RandomResizedCrop(16)}, {}}};
  }
  SECTION("decoded by the consumer") {
    options.threads = 0;
  }
  std::vector<std::unique_ptr<Loader>> loaders;
  std::vector<Loader*> all;
  for (int l = 0; l < 3; ++l) {
    loaders.push_back(std::make_unique<Loader>(dataset, options));
    all.push_back(loaders.back().get());
  }
  CHECK(StoresIn(folder.path()).size() == 1);
  std::uint64_t taken = 0;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const auto wanted = Alone(dataset, options, epoch);
    for (const auto& played : PlayTogether(all, epoch))
      REQUIRE(played == wanted);
  }
  for (const Loader* loader : all) {
    taken += loader->Stats().taken_rows;
    CHECK(loader->Memory().shared == kRoomy);
  }
  CHECK(taken > 150);
  loaders.clear();
  CHECK(StoresIn(folder.path()).empty());
}

TEST_CASE("A loader that comes later takes the rows that another one has made, in other batches") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 60));
  LoaderOptions options = Sharing(folder);
  Loader first(dataset, options);
  REQUIRE(PlayBatches(first, 0).size() == 8);
  options.batch_size = 20;
  options.threads = 1;
  Loader second(dataset, options);
  CHECK(PlayBatches(second, 0) == Alone(dataset, options, 0));
  CHECK(second.Stats().taken_rows >= 60);  // the loader has begun the next epoch, too
}

TEST_CASE("A loader whose rows would differ has a store of its own") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 12));
  const std::vector<std::function<void(LoaderOptions&)>> changes = {
      [](LoaderOptions&) {},
      [](LoaderOptions& o) { o.seed = 6; },
      [](LoaderOptions& o) { o.transform[0] = RandomResizedCrop(32).scale(0.2, 1.0); },
      [](LoaderOptions& o) { o.transform.pop_back(); },
      [](LoaderOptions& o) { o.transform.push_back(Normalize()); },
      [](LoaderOptions& o) { o.transform.push_back(Normalize({0.5F}, {0.5F})); },
      [](LoaderOptions& o) {
        o.schedule = {{3, {RandomResizedCrop(32)}}};
      },
      [](LoaderOptions& o) {
        o.schedule = {{4, {RandomResizedCrop(32)}}};
      },
      [](LoaderOptions& o) {
        o.sizes = {{0, 16, 16}, {2, 32, 32}};
      },
      [](LoaderOptions& o) {
        o.views = {{"v", {RandomResizedCrop(16)}, {}}};
      },
      [](LoaderOptions& o) {
        o.views = {{"v", {RandomResizedCrop(17)}, {}}};
      },
      [](LoaderOptions& o) { o.output.layout = Layout::kNCHW; },
      [](LoaderOptions& o) { o.output.channels = 1; },
      [](LoaderOptions& o) { o.integrity.verify = Verify::kNever; },
      [](LoaderOptions& o) { o.output.fields = {"image"}; },
      [](LoaderOptions& o) {
        o.output.made_fields = {Field::Array("a", DType::kFloat32, {2})};
        o.batch_function = [](MutableBatch&) {};
      },
  };
  std::vector<std::unique_ptr<Loader>> loaders;
  for (const auto& change : changes) {
    LoaderOptions options = Sharing(folder);
    change(options);
    loaders.push_back(std::make_unique<Loader>(dataset, options));
  }
  CHECK(StoresIn(folder.path()).size() == changes.size());
  // Options that do not change rows do not change the store.
  LoaderOptions options = Sharing(folder);
  options.threads = 1;
  options.batch_size = 3;
  options.ring.hold = 3;
  options.order.shuffle = Shuffle::kRandom;
  options.integrity.on_fault = OnFault::kSkip;
  const Loader another(dataset, options);
  CHECK(StoresIn(folder.path()).size() == changes.size());
}

TEST_CASE("A loader that is too far behind makes its rows itself") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 100));
  LoaderOptions options = Sharing(folder, 50'000);  // some 15 rows
  Loader first(dataset, options), second(dataset, options);
  REQUIRE(PlayBatches(first, 0).size() == 13);
  CHECK(PlayBatches(second, 0) == Alone(dataset, options, 0));
  CHECK(second.Stats().taken_rows < 50);
}

TEST_CASE("A damaged sample is a fault of each loader that shares rows") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteJpegDataset(folder, 40);
  {
    const Dataset dataset = Dataset::Open(path);
    const Bytes payload = dataset[17].Payload().bytes;
    const std::filesystem::path file = path / dataset.shards().at(0).file;
    const std::string bytes = ContentOf(file);
    const std::size_t at =
        bytes.find(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(at + payload.size() / 2));
    out.put(static_cast<char>(~bytes[at + payload.size() / 2]));
  }
  const Dataset dataset = Dataset::Open(path);
  for (const OnFault on_fault : {OnFault::kSkip, OnFault::kSubstitute}) {
    LoaderOptions options = Sharing(folder);
    options.integrity.on_fault = on_fault;
    Loader first(dataset, options), second(dataset, options);
    const auto wanted = Alone(dataset, options, 0);
    for (const auto& played : PlayTogether({&first, &second}, 0))
      CHECK(played == wanted);
    CHECK(first.Faults().at(0).sample == 17);
    CHECK(second.Faults().at(0).sample == 17);
  }
}

TEST_CASE("Options that cannot be shared are refused, and say what to change") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 10));
  const auto refusal = [&](const std::function<void(LoaderOptions&)>& change, ErrorCode code) {
    LoaderOptions options = Sharing(folder);
    change(options);
    return ErrorText([&] { const Loader loader(dataset, options); }, code);
  };
  const auto invalid = ErrorCode::kInvalidArgument;
  CHECK_THAT(refusal([](auto& o) { o.share->bytes = 0; }, invalid),
             ContainsSubstring("share.bytes must be at least 1"));
  CHECK_THAT(refusal([](auto& o) { o.share->bytes = 5000; }, ErrorCode::kLimit),
             ContainsSubstring("SharedRows::bytes is 5000, and one row takes"));
  CHECK_THAT(refusal([](auto& o) { o.share->folder = ""; }, invalid),
             ContainsSubstring("SharedRows::folder"));
  CHECK_THAT(refusal([](auto& o) { o.share->folder = "/nowhere/at/all"; }, ErrorCode::kNotFound),
             ContainsSubstring("/nowhere/at/all"));
  CHECK_THAT(refusal([](auto& o) { o.share->bytes = std::uint64_t{1} << 60; }, ErrorCode::kLimit),
             ContainsSubstring("has no room for"));
  CHECK_THAT(refusal(
                 [](auto& o) {
                   o.share = SharedRows{AvailableMemory() + (std::uint64_t{1} << 30), "/dev/shm"};
                 },
                 ErrorCode::kLimit),
             ContainsSubstring("bytes of memory are left"));
  CHECK_THAT(refusal([](auto& o) { o.keep = DecodedPictures{100}; }, invalid),
             ContainsSubstring("leave LoaderOptions::keep empty"));
  CHECK_THAT(refusal([](auto& o) { o.sample_function = [](MutableSample&) {}; }, invalid),
             ContainsSubstring("sample_function"));
  CHECK_THAT(refusal([](auto& o) { o.output.image_sizes = ImageSizes::kPadded; }, invalid),
             ContainsSubstring("image_sizes"));
  const std::vector<std::byte> file = MakeJpeg(MakePicture(40, 30));
  std::filesystem::create_directories(folder / "photos/a");
  std::ofstream(folder / "photos/a/1.jpg", std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  const Dataset played = Dataset::Open(PlaySource(folder / "photos"));
  CHECK_THAT(ErrorText([&] { const Loader loader(played, Sharing(folder)); }, invalid),
             ContainsSubstring("convert the source"));
}

TEST_CASE("A file that other users can open, or a link, is not used as a store") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 10));
  std::filesystem::path store;
  {
    const Loader loader(dataset, Sharing(folder));
    store = StoresIn(folder.path()).at(0);
    struct stat info {};
    REQUIRE(stat(store.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
  }
  const auto refusal = [&] {
    return ErrorText([&] { const Loader loader(dataset, Sharing(folder)); }, ErrorCode::kIo);
  };
  std::ofstream(store).put('x');
  REQUIRE(chmod(store.c_str(), 0644) == 0);
  CHECK_THAT(refusal(), ContainsSubstring("can be opened by other users; remove it"));
  std::filesystem::remove(store);
  std::filesystem::create_symlink(folder / "jpeg", store);
  CHECK_THAT(refusal(), ContainsSubstring("symbolic link"));
  if (geteuid() != 0) return;
  std::filesystem::remove(store);
  std::ofstream(store).put('x');
  REQUIRE(chown(store.c_str(), 4321, 4321) == 0);
  CHECK_THAT(refusal(), ContainsSubstring("set SharedRows::folder to a folder of your own"));
  CHECK_THAT(refusal(), !ContainsSubstring("chmod"));
}

TEST_CASE("A row is made once, and taken as often as a loader asks for it") {
  const TemporaryFolder folder;
  const auto maker = SmallStore(folder, 10), other = SmallStore(folder, 10);
  const SharedRowCache::RowName name{3, 7, 42};
  CHECK(TakeFrom(*maker, name) == Found::kToMake);
  CHECK(TakeFrom(*maker, name) == Found::kBeingMade);
  CHECK(TakeFrom(*other, name) == Found::kBeingMade);
  PutInto(*maker, name, 99);
  std::uint64_t value = 0;
  CHECK(TakeFrom(*other, name, &value) == Found::kRow);
  CHECK(value == 99);
  CHECK(TakeFrom(*maker, name, &value) == Found::kRow);
  CHECK(other->taken() == 1);
  CHECK(TakeFrom(*other, {3, 7, 43}) == Found::kNotShared);  // another sample at that position
}

TEST_CASE("A row that was given up, or does not fit, is made by the next loader that asks") {
  const TemporaryFolder folder;
  const auto store = SmallStore(folder, 10);
  const SharedRowCache::RowName name{0, 1, 2};
  REQUIRE(TakeFrom(*store, name) == Found::kToMake);
  store->GiveUp(name);
  REQUIRE(TakeFrom(*store, name) == Found::kToMake);
  const std::vector<std::byte> large(1000);
  store->Put(name, [&](SharedRowCache::Writer& to) { to.Put(large.data(), large.size()); });
  CHECK(TakeFrom(*store, name) == Found::kToMake);
}

TEST_CASE("A later row takes an earlier row's place, unless the earlier one is being made") {
  const TemporaryFolder folder;
  const auto ahead = SmallStore(folder, 10), behind = SmallStore(folder, 10);
  REQUIRE(ahead->places() == 10);
  REQUIRE(TakeFrom(*behind, {0, 4, 1}) == Found::kToMake);
  // Position 14 has the same place as position 4, modulo 10, and that row is being made.
  CHECK(TakeFrom(*ahead, {0, 14, 2}) == Found::kNotShared);
  PutInto(*behind, {0, 4, 1}, 5);
  REQUIRE(TakeFrom(*ahead, {0, 14, 2}) == Found::kToMake);
  PutInto(*ahead, {0, 14, 2}, 6);
  CHECK(TakeFrom(*behind, {0, 4, 1}) == Found::kNotShared);  // a later row is not displaced
  CHECK(TakeFrom(*behind, {0, 14, 2}) == Found::kRow);
}

TEST_CASE("The place of a row is taken if the loader that was making the row is gone") {
  const TemporaryFolder folder;
  auto gone = SmallStore(folder, 10);
  const auto store = SmallStore(folder, 10);
  REQUIRE(TakeFrom(*gone, {0, 4, 1}) == Found::kToMake);
  REQUIRE(TakeFrom(*store, {0, 4, 1}) == Found::kBeingMade);
  gone.reset();
  CHECK(TakeFrom(*store, {0, 4, 1}) == Found::kToMake);
}

TEST_CASE("A store whose loaders were all killed is made anew, and others are removed") {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    SharedRowCache other(folder.path(), Id128{{1}}, 10'000, 8, 100);
    SharedRowCache same(folder.path(), Id128{}, 10'000, 8, 100);
    TakeFrom(same, {0, 1, 1});
    PutInto(same, {0, 1, 1}, 3);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(StoresIn(folder.path()).size() == 2);
  const auto store = SmallStore(folder, 20);
  CHECK(store->places() == 20);
  CHECK(TakeFrom(*store, {0, 1, 1}) == Found::kToMake);
  CHECK(StoresIn(folder.path()).size() == 1);
}

TEST_CASE("A loader waits for a store as long as another process is making it") {
  const TemporaryFolder folder;
  const std::filesystem::path path = [&] {
    const auto store = SmallStore(folder, 20);
    return StoresIn(folder.path()).at(0);
  }();
  // The lock of a maker that needs longer than a loader waits for a store that nobody makes.
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  REQUIRE(fcntl(file, F_OFD_SETLK, &lock) == 0);
  std::jthread maker([file] {
    std::this_thread::sleep_for(std::chrono::milliseconds(6500));
    close(file);
  });
  CHECK(SmallStore(folder, 20)->places() == 20);
}

TEST_CASE("Loaders of one store begin their batches far from one another") {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<SharedRowCache>> stores;
  for (int loader = 0; loader < 4; ++loader) {
    stores.push_back(SmallStore(folder, 20));
    const double begin = stores.back()->batch_begin();
    CHECK(begin >= 0);
    CHECK(begin < 1);
    for (int other = 0; other < loader; ++other)
      CHECK(std::abs(begin - stores[other]->batch_begin()) > 0.1);
  }
}

TEST_CASE("Processes that share rows and are killed harm no other") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteJpegDataset(folder, 120);
  const Dataset dataset = Dataset::Open(path);
  constexpr std::uint64_t kEpochs = 4;
  std::uint64_t digest = 0;
  {
    Loader loader(dataset, SharingOptions());
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch)
      for (const Batch& batch : loader.Epoch(epoch))
        digest = DigestWith(digest, batch);
  }
  char wanted[17];
  std::snprintf(wanted, sizeof wanted, "%016llx", static_cast<unsigned long long>(digest));
  const std::string command = std::string(SLUICE_PLAY_SHARED) + " '" + path.string() + "' '" +
                              folder.path().string() + "' 300000 " + std::to_string(kEpochs);
  // Each round runs three processes at the same time, and kills a fourth after some time.
  for (int round = 0; round < (kSanitized ? 2 : 6); ++round) {
    const std::string out = (folder / "out").string();
    std::string script;
    for (int p = 0; p < 3; ++p) {
      script += command + " " + std::to_string(p * 300) + " > '" + out + std::to_string(p) +
                "' & p" + std::to_string(p) + "=$!; ";
    }
    script += "(exec " + command + " 1000) > /dev/null & victim=$!; sleep 0.0" +
              std::to_string(2 + round) +
              "; kill -9 $victim; wait $victim; wait $p0 && wait $p1 && wait $p2";
    REQUIRE(std::system(("bash -c '" +
                         [&] {
                           std::string quoted;
                           for (const char c : script)
                             quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
                           return quoted;
                         }() +
                         "' 2> /dev/null")
                            .c_str()) == 0);
    for (int p = 0; p < 3; ++p)
      CHECK_THAT(ContentOf(out + std::to_string(p)), Catch::Matchers::StartsWith(wanted));
  }
  // The killed one may have been the last that had the store. The next process takes that away.
  REQUIRE(std::system((command + " 0 > /dev/null").c_str()) == 0);
  CHECK(StoresIn(folder.path()).empty());
}

TEST_CASE("Files that are no stores stay, even if their names begin like a store's") {
  const TemporaryFolder folder;
  const std::string begin = "sluice-rows-" + std::to_string(geteuid()) + "-";
  for (const std::string& name : {std::string("sluice-rows-results.npy"), begin + "notes.txt",
                                  begin + std::string(32, 'a')}) {
    std::ofstream(folder / name) << "precious content";
    REQUIRE(chmod((folder / name).c_str(), 0600) == 0);
  }
  SmallStore(folder, 20);
  CHECK(StoresIn(folder.path()).size() == 3);
}
