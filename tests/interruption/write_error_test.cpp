// Conversions on a failing file system: any single call fails, or all calls from some call on, or
// space runs out, or a write is partial.
#include <cerrno>
#include <cstring>

#include <sys/mount.h>

#include "tests/catch.h"
#include "tests/interruption/conversion.h"
#include "tests/interruption/file_record.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<int> ErrorsOf(FileCall call) {
  switch (call) {
    case FileCall::kCreate: return {EROFS, ENOSPC};
    case FileCall::kWrite: return {EIO, ENOSPC};
    case FileCall::kRename: return {EIO, EROFS};
    case FileCall::kMakeFolder: return {EACCES};
    case FileCall::kSync:
    case FileCall::kClose: return {EIO};
    case FileCall::kLink:
    case FileCall::kUnlink: break;
  }
  return {};
}

void CheckFailed(const Conversion& conversion, const std::filesystem::path& data,
                 const Outcome& outcome, int error) {
  INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring(data.string()));
  CHECK_THAT(outcome.err, ContainsSubstring(std::strerror(error)));
  CHECK_THAT(outcome.err, ContainsSubstring("run the same command again to resume"));
  for (const auto& [name, content] : ContentsIfAny(data))
    CHECK_FALSE(std::filesystem::path(name).extension() == ".tmp");
  conversion.CheckReaders(data);
  conversion.CheckResumes(data);
  std::filesystem::remove_all(data);
}

std::vector<RecordedCall> RecordOf(const Conversion& conversion) {
  const auto record = conversion.folder() / "record";
  REQUIRE(conversion.Run(conversion.folder() / "recorded", "", record).exit_code == 3);
  return ReadRecord(record);
}

void FailCalls(const Conversion& conversion, const char* action, std::size_t first,
               std::size_t step) {
  const std::vector<RecordedCall> calls = RecordOf(conversion);
  REQUIRE(calls.size() > 25);
  for (std::size_t number = first; number < calls.size(); number += step) {
    for (const int error : ErrorsOf(calls[number].call)) {
      // "fail-all" does not fail a close, only the calls after it.
      if (calls[number].call == FileCall::kClose && action == std::string("fail-all")) continue;
      INFO(action << " " << number << " with " << std::strerror(error));
      const auto data = conversion.folder() / "data";
      const Outcome outcome = conversion.Run(
          data, std::string(action) + ":" + std::to_string(number) + ":" + std::to_string(error));
      CheckFailed(conversion, data, outcome, error);
    }
  }
}

// Converts on a disk that is full after `bytes` bytes, and then on one with enough space.
void RunOutOfSpace(const Conversion& conversion, std::uint64_t bytes) {
  INFO("space for " << bytes << " bytes");
  const auto data = conversion.folder() / "data";
  const Outcome outcome = conversion.Run(data, "space:" + std::to_string(bytes));
  CheckFailed(conversion, data, outcome, ENOSPC);
}

std::uint64_t BytesOf(const Conversion& conversion) {
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : conversion.expected())
    bytes += content.size();
  return bytes;
}

}  // namespace

TEST_CASE("a file call that fails ends a conversion with a clear error, and it can resume") {
  FailCalls(Conversion(2), "fail", 2, 17);
  FailCalls(Conversion(2, true), "fail", 9, 7);
}

TEST_CASE("any file call that fails ends a conversion with a clear error", "[slow]") {
  FailCalls(Conversion(3, GENERATE(false, true)), "fail", 0, 1);
}

TEST_CASE("if all calls fail from some call on, a conversion ends with a clear error") {
  FailCalls(Conversion(2), "fail-all", 6, 29);
  FailCalls(Conversion(2, true), "fail-all", 9, 17);
}

TEST_CASE("from whichever call on all calls fail, a conversion ends with a clear error", "[slow]") {
  FailCalls(Conversion(3, GENERATE(false, true)), "fail-all", 0, 1);
}

TEST_CASE("a conversion on a disk that becomes full resumes once there is space") {
  const Conversion conversion(2, GENERATE(false, true));
  const std::uint64_t bytes = BytesOf(conversion);
  for (const std::uint64_t space : {std::uint64_t{100}, bytes / 2, bytes - 10})
    RunOutOfSpace(conversion, space);
}

TEST_CASE("a conversion on a disk of any smaller size resumes once there is space", "[slow]") {
  const Conversion conversion(3, GENERATE(false, true));
  const std::uint64_t bytes = BytesOf(conversion);
  for (std::uint64_t space = 0; space < bytes; space += bytes / 60)
    RunOutOfSpace(conversion, space);
}

TEST_CASE("a write that takes only a part of its bytes is continued") {
  const bool direct = GENERATE(false, true);
  const Conversion conversion(2, direct);
  const std::vector<RecordedCall> calls = RecordOf(conversion);
  const std::size_t every = direct ? 1 : 3;  // direct writes are fewer and larger
  int shortened = 0;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    if (calls[number].call != FileCall::kWrite || number % every != 0) continue;
    const auto data = conversion.folder() / ("data" + std::to_string(number));
    CHECK(conversion.Run(data, "short:" + std::to_string(number)).exit_code == 3);
    CHECK(ContentsIfAny(data) == conversion.expected());
    ++shortened;
  }
  CHECK(shortened > 2);
}

TEST_CASE("a conversion into a small tmpfs resumes once it is made larger", "[slow]") {
  const Conversion conversion(3);
  const auto disk = conversion.folder() / "disk";
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=1500k") != 0) {
    WARN("cannot mount a tmpfs here; only the tests with injected errors fill a disk");
    return;
  }
  const auto data = disk / "data";
  const Outcome outcome = conversion.Run(data);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("No space left on device"));
  conversion.CheckReaders(data);
  CHECK(mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=20m") == 0);
  conversion.CheckResumes(data);
  CHECK(umount(disk.c_str()) == 0);
}

}  // namespace sluice::test
