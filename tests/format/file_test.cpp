// Files that appear complete or not at all; reading and mapping files; folders.
#include "format/disk/file.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/disk/file_lock.h"
#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"

namespace sluice {

namespace {

std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// While this lives, files of this process cannot grow beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("A link in the place of an unfinished file is refused, and its target stays") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "victim") << "important";
  std::filesystem::create_symlink(folder / "victim", folder / ".a.tmp");
  const auto error = test::ErrorOf([&] { AtomicFile(folder / "a"); });
  REQUIRE(error);
  CHECK(error->sentence().find("is a symbolic link, which is not followed; remove it") == 0);
  CHECK(test::ContentOf(folder / "victim") == "important");
}

TEST_CASE("a file appears complete, under its own name, when it is committed") {
  const test::TemporaryFolder folder;
  AtomicFile file(folder / "a");
  file.Write(AsBytes("one "));
  file.Write({});
  file.Write(AsBytes("two"));
  CHECK(NamesIn(folder.path()) == std::vector<std::string>{".a.tmp"});
  CHECK(file.size() == 7);
  file.Commit();
  CHECK(NamesIn(folder.path()) == std::vector<std::string>{"a"});
  CHECK(test::ContentOf(folder / "a") == "one two");
}

TEST_CASE("an abandoned file leaves the old one in place") {
  const test::TemporaryFolder folder;
  WriteFile(folder / "a", AsBytes("before"));
  {
    AtomicFile file(folder / "a");
    file.Write(AsBytes("after"));
  }
  CHECK(NamesIn(folder.path()) == std::vector<std::string>{"a"});
  CHECK(test::ContentOf(folder / "a") == "before");
}

TEST_CASE("a commit replaces a file of that name, and what a crash left under the temporary name") {
  const test::TemporaryFolder folder;
  WriteFile(folder / "a", AsBytes("before"));
  std::ofstream(folder / ".a.tmp") << "left by a crash, and longer than what comes";
  WriteFile(folder / "a", AsBytes("after"));
  CHECK(NamesIn(folder.path()) == std::vector<std::string>{"a"});
  CHECK(test::ContentOf(folder / "a") == "after");
}

TEST_CASE("a commit that cannot rename removes the temporary file and names the target") {
  const test::TemporaryFolder folder;
  CreateFolder(folder / "a");
  const auto error = test::ErrorOf([&] { WriteFile(folder / "a", AsBytes("x")); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kIo);
  CHECK(error->file() == (folder / "a").string());
  CHECK(NamesIn(folder.path()) == std::vector<std::string>{"a"});
}

TEST_CASE("a file in a folder that does not exist cannot be created") {
  const test::TemporaryFolder folder;
  const auto error = test::ErrorOf([&] { AtomicFile(folder / "none" / "a"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kNotFound);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("none/.a.tmp"));
}

TEST_CASE("a write past the page cache stores the given bytes, of any size") {
  const test::TemporaryFolder folder;
  DirectBuffer memory;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, DirectBuffer::kBytes - 1,
        DirectBuffer::kBytes, DirectBuffer::kBytes + 1, 2 * DirectBuffer::kBytes + 5000}) {
    std::string content(size, ' ');
    for (std::size_t i = 0; i < size; ++i)
      content[i] = static_cast<char>(i * 31 + i / 4096 + size);
    AtomicFile file(folder / "a", &memory);
    for (std::size_t at = 0; at < size; at += 300'001)
      file.Write(AsBytes(content).subspan(at, std::min<std::size_t>(300'001, size - at)));
    CHECK(file.size() == size);
    file.Commit();
    CHECK(test::ContentOf(folder / "a") == content);
  }
  {
    AtomicFile file(folder / "b", &memory);
    file.Write(std::vector<std::byte>(2 * DirectBuffer::kBytes));
  }
  CHECK(NamesIn(folder.path()) == std::vector<std::string>{"a"});
}

TEST_CASE("a write that fails is an error with the file's name and the reason") {
  const test::TemporaryFolder folder;
  const std::vector<std::byte> content(100'000);
  std::optional<Error> error;
  {
    const FileSizeLimit limit(50'000);
    error = test::ErrorOf([&] { WriteFile(folder / "a", content); });
  }
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kIo);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring((folder / "a").string()));
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("File too large"));
  CHECK(NamesIn(folder.path()).empty());
}

TEST_CASE("a full disk is an error that says so and leaves nothing behind") {
  const test::TemporaryFolder folder;
  if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    WARN("skipped: no right to mount a small file system here");
    return;
  }
  const std::vector<std::byte> content(100'000);
  const auto error = test::ErrorOf([&] { WriteFile(folder / "a", content); });
  const std::vector<std::string> names = NamesIn(folder.path());
  REQUIRE(umount(folder.path().c_str()) == 0);
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kIo);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("No space left on device"));
  CHECK(names.empty());
}

TEST_CASE("a file is read whole, up to the limit") {
  const test::TemporaryFolder folder;
  WriteFile(folder / "a", AsBytes("12345678"));
  std::vector<std::byte> content(100);
  ReadFile(folder / "a", 8, content);
  CHECK(AsText(content) == "12345678");
  const auto error = test::ErrorOf([&] { ReadFile(folder / "a", 7, content); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kLimit);
  WriteFile(folder / "empty", {});
  ReadFile(folder / "empty", 0, content);
  CHECK(content.empty());
}

TEST_CASE("folders, pipes and missing files are not read, and no call blocks") {
  const test::TemporaryFolder folder;
  std::vector<std::byte> content;
  CHECK(test::CodeOf([&] { ReadFile(folder.path(), 100, content); }) == ErrorCode::kIo);
  CHECK(test::CodeOf([&] { ReadFile(folder / "none", 100, content); }) == ErrorCode::kNotFound);
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(test::CodeOf([&] { ReadFile(folder / "pipe", 100, content); }) == ErrorCode::kIo);
  CHECK(test::CodeOf([&] { MappedFile file(folder / "pipe"); }) == ErrorCode::kIo);
}

TEST_CASE("a file can be mapped, also an empty one") {
  const test::TemporaryFolder folder;
  WriteFile(folder / "a", AsBytes("content"));
  WriteFile(folder / "empty", {});
  MappedFile file(folder / "a");
  CHECK(AsText(file.bytes()) == "content");
  MappedFile moved(std::move(file));
  CHECK(AsText(moved.bytes()) == "content");
  moved = MappedFile(folder / "empty");
  CHECK(moved.bytes().empty());
}

TEST_CASE("a mapping outlives the file's name") {
  const test::TemporaryFolder folder;
  WriteFile(folder / "a", AsBytes("content"));
  const MappedFile file(folder / "a");
  std::filesystem::remove(folder / "a");
  CHECK(AsText(file.bytes()) == "content");
}

TEST_CASE("a folder is created once and then left as it is") {
  const test::TemporaryFolder folder;
  CreateFolder(folder / "new");
  CreateFolder(folder / "new");
  CreateFolder((folder / "other").string() + "/");
  CHECK(NamesIn(folder.path()) == std::vector<std::string>{"new", "other"});
  WriteFile(folder / "file", {});
  const auto error = test::ErrorOf([&] { CreateFolder(folder / "file"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kIo);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("File exists"));
}

TEST_CASE("a folder is created with its parents") {
  const test::TemporaryFolder folder;
  CreateFolder(folder / "a/b/c");
  CreateFolder((folder / "d/e").string() + "/");
  CHECK(std::filesystem::is_directory(folder / "a/b/c"));
  CHECK(std::filesystem::is_directory(folder / "d/e"));
  WriteFile(folder / "file", {});
  const auto error = test::ErrorOf([&] { CreateFolder(folder / "file/a/b"); });
  REQUIRE(error.has_value());
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("Not a directory"));
}

TEST_CASE("a pipe or another name of a file in the place of an unfinished file is replaced") {
  const test::TemporaryFolder folder;
  REQUIRE(mkfifo((folder / ".a.tmp").c_str(), 0666) == 0);
  WriteFile(folder / "a", {});
  CHECK(std::filesystem::is_regular_file(folder / "a"));
  std::ofstream(folder / "victim") << "important";
  std::filesystem::create_hard_link(folder / "victim", folder / ".a.tmp");
  WriteFile(folder / "a", {});
  CHECK(test::ContentOf(folder / "victim") == "important");
}

TEST_CASE(
    "shared locks admit each other, an exclusive one none, and closing a file ends its lock") {
  const test::TemporaryFolder folder;
  WriteFile(folder / "file", {});
  const auto opened = [&] { return FileHandle(open((folder / "file").c_str(), O_RDWR)); };
  const FileHandle first = opened();
  for (const bool of_byte : {false, true}) {
    const auto lock = [&](const FileHandle& file, FileHold hold) {
      return of_byte ? LockByte(file, 7, hold) : LockFile(file, hold);
    };
    REQUIRE(lock(first, FileHold::kShared));
    {
      const FileHandle second = opened();
      CHECK(lock(second, FileHold::kShared));
      CHECK_FALSE(lock(first, FileHold::kExclusive));
      CHECK(errno == EWOULDBLOCK);
      if (of_byte) CHECK(OtherHold(first, 7, FileHold::kExclusive) == FileHold::kShared);
      if (of_byte) CHECK(OtherHold(first, 7, FileHold::kShared) == FileHold::kNone);
      if (of_byte) CHECK(LockByte(first, 8, FileHold::kExclusive));
    }
    CHECK(lock(first, FileHold::kExclusive));
    const FileHandle third = opened();
    CHECK_FALSE(lock(third, FileHold::kShared));
    if (of_byte) CHECK(OtherHold(third, 7, FileHold::kShared) == FileHold::kExclusive);
    CHECK(lock(first, FileHold::kNone));
    CHECK(lock(third, FileHold::kShared));
  }
}

TEST_CASE("bytes are written and read whole at any offset, or not at all") {
  const test::TemporaryFolder folder;
  const FileHandle file(open((folder / "file").c_str(), O_RDWR | O_CREAT, 0666));
  CHECK(WriteWhole(file, 3, AsBytes("whole")));
  CHECK(test::ContentOf(folder / "file") == std::string("\0\0\0whole", 8));
  std::array<std::byte, 5> read{};
  CHECK(ReadWhole(file, 3, read));
  CHECK(AsText(read) == "whole");
  CHECK_FALSE(ReadWhole(file, 4, read));  // the file ends before
  const FileHandle other = OpenForReading(folder / "file");
  CHECK_FALSE(WriteWhole(other, 0, AsBytes("x")));
  CHECK(errno == EBADF);
}

}  // namespace sluice
