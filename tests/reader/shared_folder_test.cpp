// A stage in a folder where other users of the machine can write.
#include <filesystem>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/block_cache.h>

#include "tests/file_content.h"
#include "tests/reader/in_child.h"
#include "tests/reader/playing.h"
#include "tests/reader/remote_dataset.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

constexpr int kSharedSamples = 320;
constexpr uid_t kSomebody = 4321;

LoaderOptions Sharing(const fs::path& folder) {
  LoaderOptions options = OptionsFor(8, 2);
  options.stage = Stage{folder.string(), 100'000'000};
  return options;
}

Loader Open(const fs::path& path, const fs::path& folder) {
  return Loader(OpenRemote(path), Sharing(folder));
}

std::vector<PlayedBatch> PlayPlain(const fs::path& path) {
  Loader loader(Dataset::Open(path), OptionsFor(8, 2));
  return PlayBatches(loader, 0);
}

// Fills the folder. Returns whether all batches were right.
bool Fills(const fs::path& path, const fs::path& folder, const std::vector<PlayedBatch>& expected) {
  Loader loader = Open(path, folder);
  return PlayBatches(loader, 0) == expected;
}

bool IsRoot() {
  if (geteuid() == 0) return true;
  WARN("skipped: only root can be several users");
  return false;
}

// Makes this process one of another user for good; call it in a child process.
bool Become(uid_t user, gid_t group) {
  umask(022);
  return setgroups(1, &group) == 0 && setgid(user) == 0 && setuid(user) == 0;
}

// A lock held by a user who can only read the file.
class StrangersLock {
 public:
  explicit StrangersLock(const fs::path& file) : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    REQUIRE(file_ >= 0);
  }
  ~StrangersLock() { close(file_); }
  StrangersLock(const StrangersLock&) = delete;
  StrangersLock& operator=(const StrangersLock&) = delete;

  void TakeFile() const { REQUIRE(flock(file_, LOCK_EX | LOCK_NB) == 0); }
  void TakeAllBytes() const {
    struct flock all {};
    all.l_type = F_RDLCK;
    all.l_whence = SEEK_SET;
    REQUIRE(fcntl(file_, F_OFD_SETLK, &all) == 0);
  }

 private:
  const int file_;
};

// A folder mounted read-only at another place.
class ReadOnlyView {
 public:
  ReadOnlyView(const fs::path& folder, fs::path at) : at_(std::move(at)) {
    fs::create_directory(at_);
    there_ = mount(folder.c_str(), at_.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
             mount(nullptr, at_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  ~ReadOnlyView() { umount2(at_.c_str(), MNT_DETACH); }
  ReadOnlyView(const ReadOnlyView&) = delete;
  ReadOnlyView& operator=(const ReadOnlyView&) = delete;

  bool there() const noexcept { return there_; }
  const fs::path& path() const noexcept { return at_; }

 private:
  const fs::path at_;
  bool there_ = false;
};

}  // namespace

TEST_CASE("A link in a stage is refused, and its target stays as it was") {
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, kSharedSamples);
  const Dataset dataset = Dataset::Open(path);
  const fs::path victim = folder / "victim";
  const fs::path victims = folder / "victims";
  std::ofstream(victim) << "important";
  fs::create_directory(victims);
  const fs::path root = folder / "shared";
  const fs::path own = root / CacheNameOf(dataset.path());
  fs::create_directories(own);
  fs::path at;
  fs::path to = victim;
  bool hard = false;
  SECTION("the dataset's lock") {
    at = own / "lock";
  }
  SECTION("the stage's lock") {
    at = root / "lock";
  }
  SECTION("the data") {
    at = own / "data";
  }
  SECTION("the table") {
    at = own / "pieces";
  }
  SECTION("a hard link as the table") {
    at = own / "pieces";
    hard = true;
  }
  SECTION("the dataset's folder") {
    at = own;
    to = victims;
  }
  if (at == own) fs::remove(own);
  if (hard) {
    fs::create_hard_link(to, at);
  } else {
    fs::create_symlink(to, at);
  }
  const std::string error = ErrorText([&] { Open(path, root); }, ErrorCode::kIo);
  CHECK_THAT(error, ContainsSubstring(at.string()));
  CHECK_THAT(error, ContainsSubstring("remove "));
  CHECK(ContentOf(victim) == "important");
  CHECK(fs::is_empty(victims));
  fs::remove(at);
  CHECK(Fills(path, root, PlayPlain(path)));
}

TEST_CASE("A named pipe in a cache is reported as one") {
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, 32);
  const fs::path own = folder / "cache" / CacheNameOf(path);
  fs::create_directories(own);
  REQUIRE(mkfifo((own / "data").c_str(), 0666) == 0);
  const std::string error = ErrorText([&] { Open(path, folder / "cache"); }, ErrorCode::kIo);
  CHECK_THAT(error, ContainsSubstring((own / "data").string() +
                                      ": is a named pipe, not a regular file; remove it"));
}

TEST_CASE("Another user's files are refused in a stage, with advice") {
  if (!IsRoot()) return;
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, 32);
  const fs::path root = folder / "shared";
  const fs::path own = root / CacheNameOf(path);
  fs::create_directories(own);
  fs::path theirs;
  SECTION("the folder") {
    theirs = root;
  }
  SECTION("the dataset's folder") {
    theirs = own;
  }
  SECTION("a lock") {
    theirs = root / "lock";
    std::ofstream(theirs) << "";
  }
  SECTION("a file of the dataset") {
    theirs = own / "data";
    std::ofstream(theirs) << "";
  }
  REQUIRE(chown(theirs.c_str(), kSomebody, kSomebody) == 0);
  fs::permissions(theirs, fs::perms::all);
  const std::string error = ErrorText([&] { Open(path, root); }, ErrorCode::kIo);
  CHECK_THAT(error, ContainsSubstring(theirs.string() + ": belongs to user 4321"));
  CHECK_THAT(error, ContainsSubstring("use a folder of your own"));
  CHECK_THAT(error, ContainsSubstring("chmod 2770 " + root.string()));
}

TEST_CASE(
    "A folder owned by root is used if root appears as nobody, as in an unprivileged container") {
  if (!IsRoot()) return;
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, 32);
  const fs::path root = folder / "shared";
  fs::create_directory(root);
  REQUIRE(chown(root.c_str(), 65534, 65534) == 0);
  fs::permissions(root, fs::perms(01777));
  CHECK(Fills(path, root, PlayPlain(path)));
}

TEST_CASE("Two users of a group share a stage under umask 022") {
  if (!IsRoot() || !kForks) return;
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  const fs::path path = WriteLargerDataset(folder, kSharedSamples);
  const std::vector<PlayedBatch> expected = PlayPlain(path);
  const gid_t group = 5432;
  const fs::path root = folder / "shared";
  fs::create_directory(root);
  SECTION("made by root") {
    REQUIRE(chown(root.c_str(), 0, group) == 0);
  }
  SECTION("made by one of them") {
    REQUIRE(chown(root.c_str(), 1001, group) == 0);
  }
  REQUIRE(chmod(root.c_str(), 02770) == 0);
  CHECK(InChild([&] { return Become(1001, group) && Fills(path, root, expected); }) == 0);
  CHECK(InChild([&] {
          if (!Become(1002, group)) return false;
          Loader loader = Open(path, root);
          const bool right = PlayBatches(loader, 0) == expected;
          return right && loader.Stats().fetched_bytes == 0;
        }) == 0);
  // The second user may write there, too.
  CHECK(InChild([&] {
          return Become(1002, group) && ClearCache(root) > 0 && Fills(path, root, expected);
        }) == 0);
  // A user outside the group gets an error.
  CHECK(InChild([&] {
          if (!Become(1003, 1003)) return false;
          try {
            Open(path, root);
          } catch (const Error& error) {
            return error.code() == ErrorCode::kIo;
          }
          return false;
        }) == 0);
}

TEST_CASE("A loader plays past a cache that a stranger keeps locked", "[no-asan][no-tsan]") {
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, kSharedSamples);
  const std::vector<PlayedBatch> expected = PlayPlain(path);
  const fs::path cache = folder / "cache";
  LoaderOptions nothing = Sharing(cache);
  nothing.stage->bytes = 1;  // the table is made, and no piece is kept
  { Loader loader(OpenRemote(path), nothing); }
  const fs::path own = cache / CacheNameOf(path);
  std::optional<StrangersLock> lock;
  SECTION("the folder") {
    lock.emplace(cache / "lock").TakeFile();
  }
  SECTION("the dataset") {
    lock.emplace(own / "lock").TakeFile();
  }
  SECTION("all pieces, which do not exist") {
    lock.emplace(own / "pieces").TakeAllBytes();
  }
  Loader loader = Open(path, cache);
  CHECK(PlayBatches(loader, 0) == expected);
  CHECK(loader.Stats().cached_bytes == 0);
  lock.reset();
  CHECK(Fills(path, cache, expected));
  Loader later = Open(path, cache);
  CHECK(PlayBatches(later, 0) == expected);
  CHECK(later.Stats().fetched_bytes == 0);
}

TEST_CASE("A valid cache in a read-only folder is used") {
  if (!IsRoot()) return;
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, kSharedSamples);
  const std::vector<PlayedBatch> expected = PlayPlain(path);
  const fs::path cache = folder / "cache";
  REQUIRE(Fills(path, cache, expected));
  bool damaged = false;
  SECTION("whole") {}
  SECTION("with a damaged piece, which is fetched") {
    damaged = true;
    std::fstream(cache / CacheNameOf(path) / "data").seekp(2'000'000).put('!');
  }
  const ReadOnlyView seen(cache, folder / "seen");
  if (!seen.there()) {
    WARN("skipped: this process may not mount");
    return;
  }
  Loader loader = Open(path, seen.path());
  for (int times = 0; times < 2; ++times)
    CHECK(PlayBatches(loader, 0) == expected);
  CHECK(loader.Stats().cached_bytes > 0);
  CHECK((loader.Stats().fetched_bytes > 0) == damaged);
  const std::vector<CachedDataset> datasets = DatasetsInCache(seen.path());
  REQUIRE(datasets.size() == 1);
  CHECK(datasets[0].bytes > 0);
}
