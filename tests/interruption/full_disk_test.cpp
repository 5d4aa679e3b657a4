// Commands that resume, or start again, after a disk became full: convert, append, copy and export.
// (edit_test.cpp has those that remove all they wrote.)
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/catch.h"
#include "tests/interruption/conversion.h"
#include "tests/interruption/file_record.h"
#include "tests/tools/sources.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

void WriteSmallPictures(const fs::path& folder, int count, int first = 0) {
  for (int i = first; i < first + count; ++i)
    WriteJpeg(
        folder / (i % 2 == 0 ? "cat" : "dog") / (std::to_string(i) + ".jpg"),
        Paint(24, 16, [i](std::uint32_t x, std::uint32_t y) {
          return Colour{static_cast<std::uint8_t>(x * 9 + i), static_cast<std::uint8_t>(y * 13), 7};
        }));
}

// A command that fills the disk.
struct Filling {
  Words command;
  std::string made;  // the folder that it writes to
};

// Runs each command in a new folder that holds a dataset.
class FullDisk {
 public:
  FullDisk() {
    WriteSmallPictures(folder_ / "first", 5);
    WriteSmallPictures(folder_ / "second", 8, 5);
    REQUIRE(Sluice({"convert", At("first"), At("whole"), "--image", "raw"}).exit_code == 0);
  }

  std::string At(const std::string& name) const { return (folder_ / name).string(); }
  fs::path work() const { return folder_ / "work"; }

  std::vector<Filling> All() const {
    const std::string data = (work() / "data").string(), out = (work() / "out").string();
    return {{{"convert", At("first"), out, "--image", "raw", "--threads", "2"}, "out"},
            {{"append", At("second"), data, "--threads", "2"}, "data"},
            {{"copy", data, out}, "out"},
            {{"export", data, out, "--threads", "2"}, "out"}};
  }

  void MakeWork() const {
    fs::remove_all(work());
    fs::create_directory(work());
    fs::copy(At("whole"), work() / "data");
  }

  // Runs with enough space, and keeps the result as the expected one. Returns the bytes of each
  // write.
  std::vector<std::size_t> WritesOf(const Filling& filling) {
    MakeWork();
    fs::remove(At("record"));
    const Outcome outcome =
        Sluice(filling.command, Conversion::WithSeam(work(), "copies:1000000000", At("record")));
    INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
    REQUIRE(outcome.exit_code == 0);
    expected_ = AllIn(work() / filling.made);
    std::vector<std::size_t> writes;
    for (const RecordedCall& call : ReadRecord(At("record")))
      if (call.call == FileCall::kWrite) writes.push_back(call.data.size());
    REQUIRE(writes.size() >= 2);
    return writes;
  }

  // Runs with too little space. The command must say what happened, must not leave a file that only
  // looks whole, and must give the expected result when it is run again.
  void RunOutOfSpace(const Filling& filling, std::uint64_t space) const {
    MakeWork();
    const std::string& name = filling.command[0];
    const Outcome outcome =
        Sluice(filling.command, Conversion::WithSeam(work(), "copies:" + std::to_string(space)));
    INFO(name << " with space for " << space << " bytes\nstdout: " << outcome.out
              << "\nstderr: " << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring(std::strerror(ENOSPC)) &&
                                ContainsSubstring((work() / filling.made).string()));
    CHECK(AllIn(work() / "data") == AllIn(At("whole")));
    if (filling.made != "data") CheckPartOfExpected(work() / filling.made);
    if (name == "export") CHECK_FALSE(fs::exists(work() / "out/labels.csv"));
    const Outcome again = Sluice(filling.command);
    INFO("again: " << again.out << again.err);
    CHECK(again.exit_code == 0);
    CHECK(AllIn(work() / filling.made) == expected_);
    CHECK_FALSE(fs::exists(work() / "data.append"));
  }

 private:
  // All files below a folder, by their paths.
  static Contents AllIn(const fs::path& folder) {
    Contents contents;
    if (!fs::exists(folder)) return contents;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file())
        contents[fs::relative(entry.path(), folder).string()] = ContentOf(entry.path());
    return contents;
  }

  void CheckPartOfExpected(const fs::path& folder) const {
    for (const auto& [name, content] : AllIn(folder)) {
      INFO(name);
      if (name == "sluice-work.txt") continue;  // says that the folder is not finished
      const auto whole = expected_.find(name);
      REQUIRE(whole != expected_.end());
      CHECK(content == whole->second);
    }
  }

  TemporaryFolder folder_;
  Contents expected_;
};

}  // namespace

TEST_CASE(
    "a command that meets a full disk says so, leaves no truncated file, and can be run again") {
  FullDisk disk;
  for (const Filling& filling : disk.All()) {
    const std::vector<std::size_t> writes = disk.WritesOf(filling);
    const std::size_t every = std::max<std::size_t>(1, writes.size() / 5);
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < writes.size(); before += writes[i++])
      if (i % every == 0 || i + 1 == writes.size())
        disk.RunOutOfSpace(filling, before + writes[i] - 1);
  }
}

TEST_CASE("a command on a disk of any smaller size can be run again", "[slow]") {
  FullDisk disk;
  for (const Filling& filling : disk.All()) {
    std::uint64_t bytes = 0;
    for (const std::size_t write : disk.WritesOf(filling))
      bytes += write;
    for (std::uint64_t space = 0; space < bytes; space += 37)
      disk.RunOutOfSpace(filling, space);
  }
}

}  // namespace sluice::test
