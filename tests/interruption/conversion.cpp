#include "tests/interruption/conversion.h"

#include <cstdlib>

#include "tests/catch.h"
#include "tests/tools/sources.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {
constexpr int kSamplesOfShard = 8;  // raw 200x160 pictures per megabyte
}

Conversion::Conversion(int shards, bool direct) {
  WriteClasses(source(), (shards * kSamplesOfShard + 2) / 3, 60, 50);
  WriteBytes(source() / "cat/broken.jpg", TruncatedJpeg());
  WriteBytes(source() / "owl/broken.jpg", TruncatedJpeg());
  WriteBytes(source() / "owl/note.txt", "no image");
  const Outcome outcome = Run(folder_ / "expected");
  REQUIRE(outcome.exit_code == 3);
  expected_ = ContentsOf(folder_ / "expected");
  REQUIRE(expected_.size() >= static_cast<std::size_t>(shards) + 3);
  direct_ = direct;
}

Words Conversion::Command(const std::filesystem::path& data) const {
  Words words = {"convert", source().string(), data.string(), "--size",    "200x160", "--image",
                 "raw",     "--shard-bytes",   "1MB",         "--threads", "2"};
  if (direct_) words.emplace_back("--direct");
  return words;
}

RunOptions Conversion::WithSeam(const std::filesystem::path& data, const std::string& action,
                                const std::filesystem::path& record) {
  RunOptions options;
  const char* const sanitizer = std::getenv("ASAN_OPTIONS");
  options.environment = {std::string("LD_PRELOAD=") + SLUICE_FILE_SEAM,
                         "SLUICE_SEAM_FOLDER=" + data.string(), "SLUICE_SEAM_DO=" + action,
                         // AddressSanitizer would refuse to be loaded after the seam. That order is
                         // harmless, because the seam only makes system calls.
                         std::string("ASAN_OPTIONS=verify_asan_link_order=0:") +
                             (sanitizer == nullptr ? "" : sanitizer)};
  if (!record.empty()) options.environment.push_back("SLUICE_SEAM_RECORD=" + record.string());
  return options;
}

Outcome Conversion::Run(const std::filesystem::path& data, const std::string& action,
                        const std::filesystem::path& record) const {
  if (action.empty() && record.empty()) return Sluice(Command(data));
  return Sluice(Command(data), WithSeam(data, action, record));
}

void Conversion::CheckReaders(const std::filesystem::path& data) const {
  const bool whole = ContentsIfAny(data) == expected_;
  const Outcome outcomes[] = {
      Sluice({"inspect", data.string()}), Sluice({"verify", data.string(), "--quiet"}),
      Bench({"epoch", data.string(), "--epochs", "1", "--batch-size", "4", "--quiet"})};
  for (const Outcome& outcome : outcomes) {
    INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
    if (whole) {
      CHECK(outcome.exit_code == 0);
      continue;
    }
    CHECK(outcome.exit_code == 1);
    // The message says what to do next, or that the folder is not a dataset.
    const bool clear = outcome.err.find("`sluice convert") != std::string::npos ||
                       outcome.err.find("there is no dataset here") != std::string::npos ||
                       outcome.err.find("is not a dataset") != std::string::npos;
    CHECK(clear);
    CHECK_THAT(outcome.err, ContainsSubstring(data.string()));
  }
}

void Conversion::CheckResumes(const std::filesystem::path& data) const {
  const Outcome outcome = Run(data);
  INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
  CHECK(outcome.exit_code == 3);
  CHECK(ContentsOf(data) == expected_);
}

Contents ContentsIfAny(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder) ? ContentsOf(folder) : Contents{};
}

}  // namespace sluice::test
