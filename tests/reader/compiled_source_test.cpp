// Sources that are compiled while they are played (PlayOptions::compile_to): the batches are those
// of the source without that option, and the dataset is that of a conversion.
#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/convert.h>
#include <sluice/loader.h>
#include <sluice/play_source.h>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "format/disk/sample_supply.h"
#include "tests/file_content.h"
#include "tests/pictures.h"
#include "tests/reader/playing.h"
#include "tests/temporary_folder.h"
#include "writer/shard_writer.h"

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

using Catch::Matchers::ContainsSubstring;
using Supply = std::shared_ptr<SampleSupply>;

constexpr int kShards = 4;
constexpr int kPhotos = 10 * kShards;  // of which a shard gets about ten

void WriteAt(const fs::path& file, Bytes content) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()),
             static_cast<std::streamsize>(content.size()));
}

std::vector<std::byte> JpegOf(int i) {
  const auto number = static_cast<std::uint32_t>(i);
  return MakeJpeg(MakePicture(60 + number % 7, 50 + number % 5, 3, number),
                  {.progressive = i % 3 == 1});
}

fs::path NameOf(int i) {
  return fs::path(i % 2 == 0 ? "ant" : "bee") / (std::to_string(i) + ".jpg");
}

fs::path WritePhotos(const TemporaryFolder& folder, int count = kPhotos) {
  for (int i = 0; i < count; ++i)
    WriteAt(folder / "photos" / NameOf(i), JpegOf(i));
  return folder / "photos";
}

// Raw pictures of 100 kB, so that the smallest shards have only ten.
PlayOptions Raw() {
  PlayOptions options;
  options.form = {.image = ImageCodec::kRaw};
  options.geometry = {.max_side = {}, .size = Size{200, 170}};
  options.shards.shard_bytes = 1 << 20;
  options.shards.block_samples = 4;
  return options;
}

PlayOptions Into(const fs::path& folder, PlayOptions options = Raw()) {
  options.compile_to = folder;
  return options;
}

std::map<std::string, std::string> FilesOf(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = ContentOf(entry.path());
  return files;
}

// The files of the conversion with the same options.
std::map<std::string, std::string> Converted(const ConvertSource& source, const fs::path& folder,
                                             const PlayOptions& options = Raw()) {
  ConvertOptions convert;
  convert.geometry = options.geometry;
  convert.form = options.form;
  convert.shards = options.shards;
  Convert(source, folder, convert);
  return FilesOf(folder);
}

LoaderOptions Crops(unsigned threads = 2) {
  LoaderOptions options = OptionsFor(4, threads);
  options.transform = {RandomResizedCrop(32), HorizontalFlip()};
  options.order.lanes = 2;
  options.integrity.on_fault = OnFault::kSkip;
  options.seed = 7;
  return options;
}

std::vector<PlayedBatch> EpochOf(const Supply& supply, std::uint64_t epoch = 0,
                                 const LoaderOptions& options = Crops()) {
  Loader loader(Dataset::Open(supply), options);
  return PlayBatches(loader, epoch);
}

// Plays epochs until all samples of one come from shards: by then, each shard is open.
void PlayUntilCompiled(const Supply& supply, const std::vector<PlayedBatch>& batches) {
  std::uint64_t before = 0;
  do {
    before = supply->work().compiled;
    REQUIRE(EpochOf(supply) == batches);
  } while (supply->work().compiled < before + kPhotos);
}

template <class Is>
void WaitUntil(const Is& is) {
  while (!is())
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

void AwaitUnlocked(const fs::path& folder) {
  WaitUntil([&] {
    const FileHandle handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return handle && flock(handle.get(), LOCK_EX | LOCK_NB) == 0;
  });
}

// Waits for the finished dataset, and then until the source's thread no longer locks its folder.
void AwaitDataset(const fs::path& folder) {
  WaitUntil([&] { return fs::exists(folder / kManifestName); });
  AwaitUnlocked(folder);
}

// The warnings of a source's thread, without the one that Raw() enlarges the pictures.
class Warnings {
 public:
  std::function<void(const std::string&)> Hook() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      if (text.find("were enlarged") == text.npos) texts_.push_back(text);
    };
  }
  std::vector<std::string> Texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }
  std::string Await() {
    WaitUntil([&] { return !Texts().empty(); });
    return Texts().front();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

void SetTime(const fs::path& file, int seconds) {
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(seconds));
}

}  // namespace

TEST_CASE("A source that is compiled gives the same batches meanwhile and afterwards") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  PlayOptions options = Raw();
  if (GENERATE(false, true)) {  // JPEGs that keep their coefficients
    options = PlayOptions();
    options.shards.block_samples = 4;
  }
  const Supply plain = PlaySource(photos, options);
  const Supply compiled = PlaySource(photos, Into(folder / "data", options));
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
    REQUIRE(EpochOf(compiled, epoch) == EpochOf(plain, epoch));
  CHECK(Dataset::Open(compiled).id() == Dataset::Open(plain).id());
  AwaitDataset(folder / "data");
  std::vector<std::vector<PlayedBatch>> expected;
  std::vector<LoaderOptions> each;
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    for (const unsigned rank : {0U, 1U}) {
      LoaderOptions of_rank = Crops(rank);
      of_rank.order.shuffle = shuffle;
      of_rank.ranks.world_size = 2;
      of_rank.ranks.rank = rank;
      each.push_back(of_rank);
      expected.push_back(EpochOf(plain, 1, of_rank));
    }
  }
  CHECK(plain->work().compiled == 0);
  fs::remove_all(photos);  // only the dataset has the pictures now
  for (std::size_t i = 0; i < each.size(); ++i)
    REQUIRE(EpochOf(compiled, 1, each[i]) == expected[i]);
  Loader loader(Dataset::Open(compiled), Crops());
  CHECK(loader.Stats().compiled_samples == 0);  // those that earlier loaders read do not count
  const std::size_t batches = PlayBatches(loader, 1).size();
  CHECK(loader.Stats().compiled_samples >= batches);
  CHECK(loader.Stats().file_make_seconds == 0);
}

TEST_CASE("A source that is played is compiled into the files of its conversion") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  WriteAt(photos / "ant" / "broken.jpg", AsBytes("\xFF\xD8\xFF\xE0 no picture"));
  WriteAt(photos / "ant" / "note.txt", AsBytes("no image"));
  PlayOptions options = Into(folder / "data");
  ConvertSource source(photos);
  SECTION("a folder") {
    options.shards.meta = {{"license", "CC0"}};
  }
  SECTION("a list of paths") {
    std::vector<std::string> paths;
    for (int i = 0; i < 15; ++i)
      paths.push_back(NameOf(i).string());
    source = ConvertSource::Paths(paths, photos);
  }
  SECTION("a table, from an index") {
    std::ofstream table(folder / "table.csv");
    table << "path,label,weight\n";
    for (int i = 0; i < 15; ++i)
      table << NameOf(i).string() << "," << i % 3 << "," << i * 0.5 << "\n";
    table.close();
    source = ConvertSource::Table(folder / "table.csv");
    source.root = photos;
    source.rows.columns = {{.column = "label", .type = ColumnType::kClass},
                           {.column = "weight", .type = ColumnType::kFloat}};
    options.index = folder / "index";
    PlaySource(source, [&] {
      PlayOptions listing = options;
      listing.compile_to.clear();
      return listing;
    }());
  }
  const auto expected = Converted(source, folder / "converted", options);
  const Supply supply = PlaySource(source, options);
  EpochOf(supply);
  AwaitDataset(folder / "data");
  CHECK(FilesOf(folder / "data") == expected);
}

TEST_CASE("Pictures that a conversion leaves out stay faults of a source that is compiled") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  PlayOptions options = Raw();
  std::vector<std::string> faulty;
  const bool takes_truncated = GENERATE(false, true);
  if (takes_truncated) {  // a fault of the loader's decoder, though a conversion takes them
    options = PlayOptions();
    options.shards.block_samples = 4;
    options.form.truncated = Truncated::kAccept;
  }
  for (const int i : {0, 12, 13, 30}) {
    std::vector<std::byte> cut = MakeJpeg(MakePicture(60, 50, 3, static_cast<std::uint32_t>(i)));
    cut.resize(cut.size() / 2);
    WriteAt(photos / NameOf(i), cut);
    faulty.push_back(NameOf(i).string());
  }
  const Supply plain = PlaySource(photos, options);
  const std::vector<PlayedBatch> expected = EpochOf(plain, 1);
  const Supply compiled = PlaySource(photos, Into(folder / "data", options));
  REQUIRE(EpochOf(compiled, 1) == expected);
  AwaitDataset(folder / "data");
  CHECK(Dataset::Open(folder / "data").size() == (takes_truncated ? kPhotos : kPhotos - 4));
  for (int i = 0; i < kPhotos; ++i) {  // the faults alone are still read from here
    const std::string name = NameOf(i).string();
    if (std::find(faulty.begin(), faulty.end(), name) == faulty.end()) fs::remove(photos / name);
  }
  CHECK(EpochOf(compiled, 1) == expected);
}

TEST_CASE("A later start resumes the compilation, and plays a finished one") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  const auto expected = Converted(photos, folder / "converted");
  const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()), 2);
  // Each time the source is destroyed when one more shard is there.
  for (int shard = 0; shard < kShards; ++shard) {
    const Supply supply = PlaySource(photos, Into(folder / "data"));
    WaitUntil([&] { return fs::exists(folder / "data" / ShardFileName(shard)); });
    REQUIRE(EpochOf(supply, 2) == batches);
  }
  const Supply supply = PlaySource(photos, Into(folder / "data"));
  AwaitDataset(folder / "data");
  CHECK(FilesOf(folder / "data") == expected);
  // Convert() resumes and finds it, too.
  CHECK(Converted(photos, folder / "data") == expected);
  const Supply again = PlaySource(photos, Into(folder / "data"));
  for (std::uint64_t played = 0; played < kPhotos; played = again->work().compiled)
    REQUIRE(EpochOf(again, 2) == batches);
  CHECK(FilesOf(folder / "data") == expected);
}

TEST_CASE("A training that is killed while it compiles is continued by the next",
          "[no-asan][no-tsan]") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  const auto expected = Converted(photos, folder / "converted");
  const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()));
  for (const std::string& at :
       {std::string(kPlanName), ShardFileName(0), ShardFileName(2), std::string(kManifestName)}) {
    INFO("killed once " << at << " is there");
    const fs::path data = folder / ("data-" + at);
    const pid_t child = fork();
    if (child == 0) {
      try {
        const Supply supply = PlaySource(photos, Into(data));
        for (std::uint64_t epoch = 0;; ++epoch)
          EpochOf(supply, epoch);
      } catch (...) {
        _exit(1);
      }
    }
    REQUIRE(child > 0);
    WaitUntil([&] { return fs::exists(data / at); });
    // Another process plays it meanwhile, and compiles once the first one is dead.
    const Supply supply = PlaySource(photos, Into(data));
    REQUIRE(EpochOf(supply) == batches);
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(EpochOf(supply) == batches);
    AwaitDataset(data);
    REQUIRE(EpochOf(supply) == batches);
    CHECK(FilesOf(data) == expected);
  }
}

TEST_CASE("Of two sources that are compiled into one folder, one compiles and both play it") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  const auto expected = Converted(photos, folder / "converted");
  const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()));
  Warnings warnings;
  PlayOptions options = Into(folder / "data");
  options.on_warning = warnings.Hook();
  const Supply first = PlaySource(photos, options);
  const Supply second = PlaySource(photos, options);
  for (const Supply& supply : {first, second})
    PlayUntilCompiled(supply, batches);
  AwaitDataset(folder / "data");
  CHECK(FilesOf(folder / "data") == expected);
  CHECK(warnings.Texts().empty());
}

TEST_CASE("The samples of a damaged shard are made from the source again, with one warning") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()));
  Converted(photos, folder / "data");
  const fs::path shard = folder / "data" / ShardFileName(1);
  Warnings warnings;
  PlayOptions options = Into(folder / "data");
  options.on_warning = warnings.Hook();
  SECTION("damaged before it is opened") {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(shard) / 2));
    file << "damage";
    file.close();
    const Supply supply = PlaySource(photos, options);
    while (warnings.Texts().empty())
      REQUIRE(EpochOf(supply) == batches);
    REQUIRE(EpochOf(supply) == batches);
  }
  SECTION("cut while it is played") {
    const Supply supply = PlaySource(photos, options);
    PlayUntilCompiled(supply, batches);
    fs::resize_file(shard, 4096);
    REQUIRE(EpochOf(supply) == batches);
    REQUIRE(EpochOf(supply) == batches);
  }
  REQUIRE(warnings.Texts().size() == 1);
  CHECK_THAT(warnings.Texts().front(), ContainsSubstring(shard.string()));
  fs::remove(shard);
  PlayUntilCompiled(PlaySource(photos, Into(folder / "data")), batches);
}

TEST_CASE("A shard that was made of other files is not played") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  std::vector<std::byte> other = JpegOf(6);  // another picture of the same size in bytes
  other[other.size() / 2] ^= std::byte{1};
  Warnings warnings;
  PlayOptions options = Into(folder / "data");
  options.on_warning = warnings.Hook();
  SECTION("changed since a finished compilation") {
    Converted(photos, folder / "data");
    WriteAt(photos / NameOf(6), other);
    const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()));
    const Supply supply = PlaySource(photos, options);
    REQUIRE(EpochOf(supply) == batches);
    CHECK_THAT(warnings.Await(),
               ContainsSubstring("1 source changed") && ContainsSubstring(NameOf(6).string()));
    REQUIRE(EpochOf(supply) == batches);
  }
  SECTION("changed since an unfinished compilation") {
    Converted(photos, folder / "data");
    fs::remove(folder / "data" / kManifestName);
    WriteAt(photos / NameOf(6), other);
    const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()));
    const Supply supply = PlaySource(photos, options);
    REQUIRE(EpochOf(supply) == batches);
    AwaitDataset(folder / "data");
    REQUIRE(EpochOf(supply) == batches);
    CHECK(FilesOf(folder / "data") == Converted(photos, folder / "converted"));
    CHECK_THAT(warnings.Await(), ContainsSubstring("every shard with a changed source was made"));
  }
  SECTION("changed since the source was listed") {
    PlayOptions listing = Raw();
    listing.index = options.index = folder / "index";
    PlaySource(photos, listing);
    WriteAt(photos / NameOf(6), other);
    SetTime(photos / NameOf(6), -5);
    const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, listing));
    const Supply supply = PlaySource(photos, options);
    REQUIRE(EpochOf(supply) == batches);  // without this picture, which is a fault
    CHECK_THAT(warnings.Await(), ContainsSubstring((photos / NameOf(6)).string()) &&
                                     ContainsSubstring("changed since the source was listed"));
    REQUIRE(EpochOf(supply) == batches);
    CHECK_FALSE(fs::exists(folder / "data" / kManifestName));
    fs::remove(options.index);
    const Supply anew = PlaySource(photos, options);
    AwaitDataset(folder / "data");
    CHECK(FilesOf(folder / "data") == Converted(photos, folder / "converted"));
  }
}

TEST_CASE("A dataset of another folder with the same names and sizes is not played") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  for (int i = 0; i < kPhotos; ++i) {
    std::vector<std::byte> other = JpegOf(i);
    other[other.size() / 2] ^= std::byte{1};
    WriteAt(folder / "others" / NameOf(i), other);
  }
  Converted(folder / "others", folder / "data");  // after all files were written
  Warnings warnings;
  PlayOptions options = Into(folder / "data");
  options.on_warning = warnings.Hook();
  const Supply supply = PlaySource(photos, options);
  CHECK_THAT(warnings.Await(),
             ContainsSubstring("holds a finished dataset") && ContainsSubstring("sources changed"));
  CHECK(EpochOf(supply) == EpochOf(PlaySource(photos, Raw())));
  CHECK(supply->work().compiled == 0);
}

TEST_CASE("The shard of a file whose time lies in the future is played") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  const auto year = std::chrono::hours(24 * 365);
  fs::last_write_time(photos / NameOf(6), fs::file_time_type::clock::now() + year);
  const Supply supply = PlaySource(photos, Into(folder / "data"));
  AwaitDataset(folder / "data");
  EpochOf(supply);
  CHECK(supply->work().compiled >= kPhotos);  // more if the next epoch is begun already
}

TEST_CASE("A folder that the source cannot be compiled into is refused at once") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 12);
  const auto refuse = [&](const PlayOptions& options, ErrorCode code, const std::string& why) {
    CHECK_THAT(ErrorText([&] { PlaySource(photos, options); }, code), ContainsSubstring(why));
  };
  refuse(Into(photos / "data"), ErrorCode::kInvalidArgument, "inside the source folder");
  refuse(Into("s3://bucket/data"), ErrorCode::kInvalidArgument, "sluice copy");
  WriteAt(folder / "mine" / "thesis.txt", AsBytes("text"));
  refuse(Into(folder / "mine"), ErrorCode::kExists, "files that are not from a conversion");
  CHECK(FilesOf(folder / "mine").size() == 1);
  Converted(photos, folder / "data");
  PlayOptions packed = Into(folder / "data");
  packed.form.image = ImageCodec::kPacked;
  refuse(packed, ErrorCode::kExists, "other options");
  WriteAt(photos / "ant" / "new.jpg", JpegOf(40));
  refuse(Into(folder / "data"), ErrorCode::kExists, "other sources");
}

TEST_CASE("A compilation that fails leaves the source playing, with one warning") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()));
  fs::create_directories(folder / "data");
  // A shard's place is taken, so the finished file cannot be renamed.
  WriteAt(folder / "data" / kPlanName, AsBytes(Converted(photos, folder / "c").at(kPlanName)));
  WriteAt(folder / "data" / ShardFileName(1) / "in the way", AsBytes("text"));
  Warnings warnings;
  PlayOptions options = Into(folder / "data");
  options.on_warning = warnings.Hook();
  const Supply supply = PlaySource(photos, options);
  REQUIRE(EpochOf(supply) == batches);
  CHECK_THAT(warnings.Await(),
             ContainsSubstring(ShardFileName(1)) && ContainsSubstring("the next start resumes"));
  REQUIRE(EpochOf(supply) == batches);
  CHECK(warnings.Texts().size() == 1);
}

TEST_CASE("A full disk ends the compilation, and the next start resumes it") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  const auto expected = Converted(photos, folder / "converted");
  const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()));
  const fs::path disk = folder / "disk", data = disk / "data";
  fs::create_directory(disk);
  // Space for two of the four shards, which have about 1 MB each.
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=2500k") != 0) {
    WARN("skipped: no right to mount a small file system here");
    return;
  }
  struct Mounted {
    const fs::path& at;
    ~Mounted() { umount2(at.c_str(), MNT_DETACH); }
  };
  const Mounted mounted{disk};
  Warnings warnings;
  PlayOptions options = Into(data);
  options.on_warning = warnings.Hook();
  {
    const Supply supply = PlaySource(photos, options);
    CHECK_THAT(warnings.Await(), ContainsSubstring("No space left on device") &&
                                     ContainsSubstring(data.string()) &&
                                     ContainsSubstring("the next start resumes"));
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      REQUIRE(EpochOf(supply) == batches);
    CHECK(supply->work().compiled > 0);
  }
  CHECK(warnings.Texts().size() == 1);
  for (const auto& [name, content] : FilesOf(data))
    if (name != kPlanName) CHECK(content == expected.at(name));
  REQUIRE(mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=20m") == 0);
  const Supply supply = PlaySource(photos, options);
  AwaitDataset(data);
  REQUIRE(EpochOf(supply) == batches);
  CHECK(FilesOf(data) == expected);
}

TEST_CASE("A stop request ends the compilation, and playing goes on") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder);
  const std::vector<PlayedBatch> batches = EpochOf(PlaySource(photos, Raw()));
  std::stop_source stop;
  Warnings warnings;
  PlayOptions options = Into(folder / "data");
  options.on_warning = warnings.Hook();
  const Supply supply = PlaySource(photos, options, stop.get_token());
  stop.request_stop();
  AwaitUnlocked(folder / "data");
  Converted(photos, folder / "data");
  REQUIRE(EpochOf(supply) == batches);
  CHECK(warnings.Texts().empty());
}
