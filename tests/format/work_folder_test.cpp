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

TEST_CASE("a file that only has the mark's name makes no work folder") {
  const test::TemporaryFolder folder;
  const fs::path mine = folder / "mine";
  fs::create_directory(mine);
  for (const char* const text : {"my own notes", "Made by sluice for", ""}) {
    INFO(text);
    std::ofstream(mine / "sluice-work.txt") << text;
    std::ofstream(mine / "thesis.txt") << "years";
    CHECK_FALSE(WorkFolder::IsAt(mine));
    const auto error = test::ErrorOf([&] { WorkFolder work(mine); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::kExists);
    CHECK(test::ContentOf(mine / "thesis.txt") == "years");
    CHECK(test::ContentOf(mine / "sluice-work.txt") == text);
  }
}

TEST_CASE("a mark that a killed process left half-written counts if nothing else is there") {
  const test::TemporaryFolder folder;
  for (const char* const text : {"Made by sluice for", ""}) {
    INFO(text);
    fs::create_directory(folder / "work");
    std::ofstream(folder / "work" / "sluice-work.txt") << text;
    CHECK(WorkFolder::IsAt(folder / "work"));
    WorkFolder(folder / "work").Keep();
    CHECK(WorkFolder(folder / "work").found());
    CHECK_FALSE(fs::exists(folder / "work"));
  }
}

TEST_CASE("a work folder that a user has chosen loses only the files that the work made") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "work";
  const auto gives = [](const std::string& name) { return name == "given"; };
  {
    WorkFolder work(path, gives);
    work.Record("sub/recorded");
    fs::create_directory(path / "sub");
    std::ofstream(path / "sub" / "recorded") << "text";
    std::ofstream(path / "given") << "text";
    work.Keep();
  }
  for (const char* const name : {"other", "sub/other"}) {
    INFO(name);
    std::ofstream(path / name) << "mine";
    const auto error = test::ErrorOf([&] { WorkFolder work(path, gives); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::kExists);
    CHECK(error->sentence().find("\"" + std::string(name) + "\"") != std::string::npos);
    CHECK(fs::exists(path / "given"));
    CHECK(fs::exists(path / "sub" / "recorded"));
    fs::remove(path / name);
  }
  {
    WorkFolder work(path, gives);
    CHECK(work.found());
    std::ofstream(path / "sub" / "late") << "mine";
  }
  CHECK(test::ContentOf(path / "sub" / "late") == "mine");
  CHECK_FALSE(fs::exists(path / "given"));
  CHECK_FALSE(fs::exists(path / "sub" / "recorded"));
  CHECK_FALSE(fs::exists(path / "sluice-work.txt"));
}

}  // namespace sluice
