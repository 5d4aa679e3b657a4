// File systems that do not allow writes past the page cache, or that cannot map files. The seam
// simulates them.
#include <cerrno>

#include "tests/catch.h"
#include "tests/interruption/conversion.h"
#include "tests/interruption/file_record.h"
#include "tests/working_directory.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kRefusal = "does not allow writes past the page cache (O_DIRECT)";

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

constexpr const char* kUnmapped = "its file system cannot map files";

}  // namespace

TEST_CASE("where no file can be mapped, commands work, and say so in one line per dataset") {
  const Conversion conversion(3);
  const std::string data = conversion.folder() / "data", other = conversion.folder() / "other";
  for (const std::string& folder : {data, other})
    REQUIRE(conversion.Run(folder).exit_code == 3);
  const std::string out = conversion.folder() / "out";
  const RunOptions unmapped = Conversion::WithSeam(data, "no-map:0");
  const auto run = [&](const Words& words) {
    Outcome outcome = words[0] == "epoch" ? Bench(words, unmapped) : Sluice(words, unmapped);
    std::filesystem::remove_all(out);
    INFO(words[0] << ": " << outcome.out << outcome.err);
    CHECK(outcome.exit_code == (words[0] == "convert" ? 3 : 0));
    return outcome.out + outcome.err;
  };
  for (const Words& words :
       {conversion.Command(data), Words{"verify", data, "--decode"}, Words{"inspect", data},
        Words{"stats", data}, Words{"export", data, out}, Words{"subset", data, out},
        Words{"epoch", data, "--epochs", "1", "--batch-size", "4"}}) {
    const std::string text = run(words);
    INFO(text);
    CHECK(CountOf(text, kUnmapped) == 1);
    CHECK_THAT(text, ContainsSubstring(data + ": " + kUnmapped));
  }
  CHECK(CountOf(run({"merge", data, other, out, "--duplicates", "keep"}), kUnmapped) == 2);
  CHECK(CountOf(run({"verify", data, "--quiet"}), kUnmapped) == 0);
  const WorkingDirectory inside(data);
  CHECK_THAT(run({"verify", "manifest.json"}), ContainsSubstring(std::string(".: ") + kUnmapped));
}

TEST_CASE("a file system that refuses direct writes gets the same bytes, and a warning says so") {
  const Conversion conversion(2, true);
  for (const char* const action : {"no-direct:0", "no-direct:1"}) {
    INFO(action);
    const auto data = conversion.folder() / "data";
    const Outcome outcome = conversion.Run(data, action);
    CHECK(outcome.exit_code == 3);
    CHECK(CountOf(outcome.err, kRefusal) == 1);
    CHECK_THAT(outcome.err, ContainsSubstring(data.string()));
    CHECK(ContentsIfAny(data) == conversion.expected());
    std::filesystem::remove_all(data);
  }
}

TEST_CASE("if direct writes are refused halfway, the rest goes through the cache") {
  const Conversion conversion(2, true);
  const auto record = conversion.folder() / "record";
  REQUIRE(conversion.Run(conversion.folder() / "recorded", "", record).exit_code == 3);
  const std::vector<RecordedCall> calls = ReadRecord(record);
  std::size_t shards = 0;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    if (calls[number].call != FileCall::kWrite || !calls[number].path.ends_with(".sluice.tmp")) {
      continue;
    }
    ++shards;
    const auto data = conversion.folder() / "data";
    const Outcome outcome =
        conversion.Run(data, "fail:" + std::to_string(number) + ":" + std::to_string(EINVAL));
    // If the test's own file system refuses direct writes, it has done so before this call. The
    // injected error then ends the conversion.
    if (outcome.exit_code == 3) {
      CHECK(CountOf(outcome.err, kRefusal) == 1);
      CHECK(ContentsIfAny(data) == conversion.expected());
    } else {
      CHECK_THAT(outcome.err, ContainsSubstring("Invalid argument"));
    }
    std::filesystem::remove_all(data);
  }
  CHECK(shards >= 2);
}

TEST_CASE("the parts of a split say once that direct writes are refused") {
  const Conversion conversion(2, true);
  const auto data = conversion.folder() / "data";
  Words words = conversion.Command(data);
  words.insert(words.end(), {"--split", "train=0.5,val=0.5"});
  const Outcome outcome = Sluice(words, Conversion::WithSeam(data, "no-direct:0"));
  CHECK(outcome.exit_code == 3);
  CHECK(CountOf(outcome.err, kRefusal) == 1);
}

TEST_CASE("an edit with --direct writes the same bytes, and says so if direct writes are refused") {
  const Conversion conversion(2, true);
  const auto from = conversion.folder() / "expected";
  const std::vector<std::pair<std::string, Words>> edits = {
      {"subset", {"subset", from.string(), "", "--count", "12"}},
      {"transcode", {"transcode", from.string(), "", "--image", "raw"}},
  };
  for (const auto& [name, command] : edits) {
    INFO(name);
    const auto run = [&](const char* folder, const Words& options, const char* action) {
      const auto to = conversion.folder() / (name + folder);
      Words words = command;
      words[2] = to.string();
      words.insert(words.end(), options.begin(), options.end());
      const Outcome outcome = Sluice(words, Conversion::WithSeam(to, action));
      CHECK(outcome.exit_code == 0);
      return std::pair(ContentsIfAny(to), CountOf(outcome.err, kRefusal));
    };
    const auto [plain, none] = run("-plain", {}, "");
    CHECK(none == 0);
    CHECK(run("-direct", {"--direct"}, "").first == plain);
    CHECK(run("-refused", {"--direct"}, "no-direct:0") == std::pair(plain, std::size_t{1}));
  }
}

}  // namespace sluice::test
