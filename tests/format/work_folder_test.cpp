// Folders for work files. A mark in them keeps a user's own folder from being deleted.
#include <fstream>

#include <sluice/error.h>
#include <sluice/work_folder.h>

#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"

namespace sluice {

namespace fs = std::filesystem;

TEST_CASE("a WorkFolder that ends removes the folder with everything in it") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "deep" / "work";
  {
    const WorkFolder work(path);
    CHECK_FALSE(work.found());
    fs::create_directories(work.path() / "in" / "it");
    std::ofstream(work.path() / "in" / "it" / "file") << "text";
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a work folder that was kept is found, and emptied on request") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "work";
  {
    WorkFolder work(path);
    std::ofstream(path / "file") << "text";
    work.Keep();
  }
  {
    WorkFolder work(path);
    CHECK(work.found());
    CHECK(test::ContentOf(path / "file") == "text");
    work.Empty();
    CHECK_FALSE(fs::exists(path / "file"));
    work.Keep();
  }
  CHECK(WorkFolder(path).found());
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("folders with files but without the mark, links and files are not used as work folders") {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "mine");
  std::ofstream(folder / "mine" / "file") << "text";
  fs::create_directory(folder / "empty");
  fs::create_directory_symlink(folder / "empty", folder / "link");
  fs::create_directory(folder / "marked by a link");
  fs::create_symlink(folder / "mine" / "file", folder / "marked by a link" / "sluice-work.txt");
  std::ofstream(folder / "file") << "text";
  for (const char* const name : {"mine", "link", "marked by a link", "file"}) {
    INFO(name);
    const auto error = test::ErrorOf([&] { WorkFolder work(folder / name); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::kExists);
    CHECK(error->file() == (folder / name).string());
  }
  CHECK(test::ContentOf(folder / "mine" / "file") == "text");
  CHECK(test::ContentOf(folder / "file") == "text");
  CHECK(fs::is_empty(folder / "empty"));
}

TEST_CASE("an empty folder may be used, since a process may be killed before it writes the mark") {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "work");
  {
    const WorkFolder work(folder / "work");
    CHECK_FALSE(work.found());
  }
  CHECK_FALSE(fs::exists(folder / "work"));
}

TEST_CASE("a folder that one WorkFolder uses is refused to another") {
  const test::TemporaryFolder folder;
  const WorkFolder work(folder / "work");
  const auto error = test::ErrorOf([&] { WorkFolder second(folder / "work"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kState);
}

TEST_CASE("a link's target outside of a work folder stays when the folder is removed") {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "mine");
  std::ofstream(folder / "mine" / "file") << "text";
  {
    const WorkFolder work(folder / "work");
    fs::create_directory_symlink(folder / "mine", work.path() / "link");
  }
  CHECK_FALSE(fs::exists(folder / "work"));
  CHECK(test::ContentOf(folder / "mine" / "file") == "text");
}

}  // namespace sluice
