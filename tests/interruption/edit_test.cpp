// Commands that make datasets from datasets: on a disk that becomes full, from a dataset that
// cannot be read, and killed and run again. If an edit could not write samples, or was not allowed
// to read them, it must never call them lost.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

#include "tests/catch.h"
#include "tests/interruption/conversion.h"
#include "tests/interruption/file_record.h"
#include "tests/sanitized.h"
#include "tests/tools/sources.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

struct Edit {
  Words command;  // without the dataset that it makes
  int exit_code = 0;
};

std::map<std::string, std::string> FilesIn(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(folder).string()] = ContentOf(entry.path());
    }
  }
  return files;
}

class Edits {
 public:
  Edits() {
    for (const char* const name : {"first", "second"}) {
      const auto source = folder_ / (std::string(name) + ".source");
      for (int i = 0; i < 4; ++i) {
        const Picture picture = Paint(24, 16, [&](std::uint32_t x, std::uint32_t y) {
          return Colour{static_cast<std::uint8_t>(x * 9 + i), static_cast<std::uint8_t>(y * 13),
                        static_cast<std::uint8_t>(name[0])};
        });
        WriteJpeg(source / (i % 2 == 0 ? "cat" : "dog") / (name + std::to_string(i) + ".jpg"),
                  picture);
      }
      REQUIRE(Sluice({"convert", source.string(), At(name), "--image", "raw"}).exit_code == 0);
    }
    // Another dataset of the same samples, with a damaged value.
    std::filesystem::copy(At("first"), At("damaged"));
    const std::string shard = At("damaged") + "/shard-00000.sluice";
    std::string bytes = ContentOf(shard);
    const StoredDataset first = ReadDataset(At("first"));
    const auto& payload = first.samples[2].fields[0].bytes;
    const std::size_t place =
        bytes.find(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
    REQUIRE(place != std::string::npos);
    bytes[place + 5] ^= 1;
    WriteBytes(shard, bytes);
  }

  std::string At(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<Edit> All() const {
    return {{{"repair", At("first")}, 0},
            {{"repair", At("damaged")}, 3},
            {{"merge", At("first"), At("second")}, 0},
            {{"subset", At("first"), "--class", "cat"}, 0},
            {{"transcode", At("first"), "--image", "packed", "--threads", "2"}, 0}};
  }

  Outcome Run(const Edit& edit, const std::string& action,
              const std::filesystem::path& record = {}) const {
    Words words = edit.command;
    words.insert(words.begin() + (words[0] == "merge" ? 3 : 2), At("made"));
    return Sluice(words, Conversion::WithSeam(At("made"), action, record));
  }

  // Kills the command before each `step`-th of its file calls, and then runs it again.
  void KillAndRepeat(const Edit& edit, std::size_t step) const {
    std::filesystem::remove_all(At("made"));
    const auto record = folder_ / "record";
    std::filesystem::remove(record);
    REQUIRE(Run(edit, "", record).exit_code == edit.exit_code);
    const auto whole = FilesIn(At("made"));
    const std::size_t calls = ReadRecord(record).size();
    REQUIRE(calls > 5);
    for (std::size_t call = 0; call < calls; call += step) {
      INFO(edit.command[0] << " killed before call " << call << " of " << calls);
      std::filesystem::remove_all(At("made"));
      CHECK(Run(edit, "kill:" + std::to_string(call)).signal == SIGKILL);
      const bool finished = std::filesystem::exists(At("made") + "/manifest.json");
      const Outcome again = Run(edit, "");
      INFO("stdout: " << again.out << "\nstderr: " << again.err);
      CHECK(again.exit_code == (finished ? 1 : edit.exit_code));
      CHECK(FilesIn(At("made")) == whole);
    }
    std::filesystem::remove_all(At("made"));
  }

  // Runs with enough space; returns the bytes of each write.
  std::vector<std::size_t> WritesOf(const Edit& edit) const {
    std::filesystem::remove_all(At("made"));
    const auto record = folder_ / "record";
    std::filesystem::remove(record);
    const Outcome outcome = Run(edit, "copies:1000000000", record);
    INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
    REQUIRE(outcome.exit_code == edit.exit_code);
    CHECK_NOTHROW(ReadDataset(At("made")));
    std::filesystem::remove_all(At("made"));
    std::vector<std::size_t> writes;
    for (const RecordedCall& call : ReadRecord(record))
      if (call.call == FileCall::kWrite) writes.push_back(call.data.size());
    REQUIRE(writes.size() >= 2);
    return writes;
  }

  void RunOutOfSpace(const Edit& edit, std::uint64_t space) const {
    INFO(edit.command[0] << " with space for " << space << " bytes");
    const Outcome outcome = Run(edit, "copies:" + std::to_string(space));
    CheckStopped(outcome, ENOSPC);
    CHECK_THAT(outcome.err, ContainsSubstring(At("made")));
  }

  // The message must not say that anything is lost, and no file may be left that would block the
  // next run.
  void CheckStopped(const Outcome& outcome, int error) const {
    INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring(std::strerror(error)));
    CHECK(outcome.out.find("lost") == std::string::npos);
    CHECK_FALSE(std::filesystem::exists(At("made")));
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("an edit on a disk that becomes full stops, leaves nothing, and can be run again") {
  const Edits edits;
  for (const Edit& edit : edits.All()) {
    std::uint64_t before = 0;
    for (const std::size_t write : edits.WritesOf(edit)) {
      edits.RunOutOfSpace(edit, before + write - 1);
      before += write;
    }
    INFO(edit.command[0]);
    CHECK(edits.Run(edit, "").exit_code == edit.exit_code);
    CHECK_NOTHROW(ReadDataset(edits.At("made")));
    std::filesystem::remove_all(edits.At("made"));
  }
}

TEST_CASE("an edit on a disk of any smaller size stops and leaves nothing", "[slow]") {
  const Edits edits;
  for (const Edit& edit : edits.All()) {
    std::uint64_t bytes = 0;
    for (const std::size_t write : edits.WritesOf(edit))
      bytes += write;
    for (std::uint64_t space = 0; space < bytes; space += 37)
      edits.RunOutOfSpace(edit, space);
  }
}

TEST_CASE("an edit or an export that was killed makes the same files when it is run again") {
  const Edits edits;
  std::vector<Edit> all = edits.All();
  all.push_back({{"export", edits.At("first"), "--threads", "1"}, 0});
  for (const Edit& edit : all)
    edits.KillAndRepeat(edit, kSanitized ? 23 : 3);
}

TEST_CASE("an edit leaves a folder as it is if no killed edit made it") {
  const Edits edits;
  const std::string precious = edits.At("made") + "/thesis.txt";
  for (const Edit& edit : edits.All()) {
    WriteBytes(precious, "precious");
    CHECK(edits.Run(edit, "").exit_code == 1);
    CHECK(ContentOf(precious) == "precious");
  }
  std::filesystem::remove_all(edits.At("made"));
  // Shards whose manifest is lost are a dataset that can be repaired.
  std::filesystem::copy(edits.At("first"), edits.At("made"));
  for (const char* const name : {"/manifest.json", "/plan.json"})
    std::filesystem::remove(edits.At("made") + name);
  const auto before = FilesIn(edits.At("made"));
  for (const Edit& edit : edits.All())
    CHECK(edits.Run(edit, "").exit_code == 1);
  CHECK(FilesIn(edits.At("made")) == before);
}

TEST_CASE("a full disk while a dataset is repacked leaves the dataset as it was") {
  const Edits edits;
  const std::string data = edits.At("second");
  const Contents before = ContentsOf(data);
  const auto run = [&](const std::string& action, const std::filesystem::path& record = {}) {
    const Words words = {"append", "--repack", data};
    return Sluice(words, Conversion::WithSeam(data, action, record));
  };
  const std::string twin = edits.At("twin");
  std::filesystem::copy(data, twin);
  const auto record = edits.At("record");
  REQUIRE(run("copies:1000000000", record).exit_code == 0);
  std::uint64_t bytes = 0;
  for (const RecordedCall& call : ReadRecord(record))
    bytes += call.data.size();
  for (const std::uint64_t space : {std::uint64_t{100}, bytes / 2, bytes - 1000, bytes - 1}) {
    std::filesystem::remove_all(data);
    std::filesystem::copy(twin, data);
    const Outcome outcome = run("copies:" + std::to_string(space));
    INFO("space for " << space << " bytes; stderr: " << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("No space left on device"));
    CHECK(ContentsOf(data) == before);
    CHECK_FALSE(std::filesystem::exists(data + ".repack"));
  }
  CHECK(run("").exit_code == 0);
}

TEST_CASE("repair calls a shard lost if the disk cannot read it, but not if reading was refused") {
  const Edits edits;
  const Edit repair = edits.All()[0];
  for (const int error : {EMFILE, ENOMEM, EACCES, ETIMEDOUT}) {
    INFO(std::strerror(error));
    for (const char* const after : {"0", "1"}) {
      edits.CheckStopped(edits.Run({{"repair", edits.At("damaged")}, 3},
                                   "refuse:" + std::string(after) + ":" + std::to_string(error)),
                         error);
    }
  }
  const Outcome outcome = edits.Run(repair, "refuse:0:" + std::to_string(EIO));
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.out, ContainsSubstring("lost: shard-00000.sluice"));
}

}  // namespace sluice::test
