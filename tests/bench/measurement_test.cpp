#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/report/result.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace sluice::bench {
namespace {

std::string TextIn(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a written file is whole, and takes the place of an older one") {
  const test::TemporaryFolder folder;
  WriteTextFile(folder / "a", "long text");
  WriteTextFile(folder / "a", "short");
  CHECK(TextIn(folder / "a") == "short");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a written file harms no file of a similar name") {
  const test::TemporaryFolder folder;
  for (const char* name : {"a.tmp", ".a.tmp", "a.part"})
    std::ofstream(folder / name) << "mine";
  WriteTextFile(folder / "a", "text");
  for (const char* name : {"a.tmp", ".a.tmp", "a.part"})
    CHECK(TextIn(folder / name) == "mine");
}

TEST_CASE("of a link, the file that it leads to is written") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "elsewhere");
  WriteTextFile(folder / "elsewhere/file", "old");
  std::filesystem::create_symlink("elsewhere/file", folder / "link");
  WriteTextFile(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(TextIn(folder / "elsewhere/file") == "new");
}

TEST_CASE("a result goes into a file that is not regular without replacing it") {
  const test::TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int end = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(end >= 0);
  WriteTextFile(pipe, "through it");
  char text[10] = {};
  CHECK(read(end, text, sizeof text) == 10);
  CHECK(std::string(text, 10) == "through it");
  close(end);
  CHECK(std::filesystem::is_fifo(pipe));
}

}  // namespace sluice::bench
