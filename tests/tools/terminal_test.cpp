// Progress as a person at a terminal sees it, and the parts of its line.
#include "tools/cli/terminal.h"

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;
using cli::ProgressFigures;
using cli::ProgressLine;

TEST_CASE("a progress line has bar, share, count, rate, bytes and the time left") {
  const ProgressFigures half{"converting", 500, 1000, 34'500'000, 250};
  CHECK(ProgressLine(half, 100) ==
        "converting [###############...............]  50%  500/1000  250 images/s  34.5 MB  0:02 "
        "left");
}

TEST_CASE("a progress line fits into any terminal") {
  const ProgressFigures figures{"converting", 1'281'166, 1'281'167, 123'456'789'012, 1234.5};
  for (std::size_t columns = 1; columns < 200; ++columns) {
    CHECK(ProgressLine(figures, columns).size() <= columns);
  }
  // 100% appears when everything is done, and not before.
  CHECK_THAT(ProgressLine(figures, 120), ContainsSubstring(" 99%"));
}

TEST_CASE("a progress line without a total or a rate shows the rest") {
  CHECK(ProgressLine({"verifying", 7, 0, 0, 0}, 80) == "verifying 7");
  CHECK(cli::ProgressSentence({"verifying", 7, 0, 0, 0}) == "verifying: 7 images");
  CHECK(ProgressLine({"verifying", 0, 4, 0, 0}, 30) == "verifying [........]   0%  0/4");
}

TEST_CASE("on a terminal, progress is one line, redrawn in place and removed at the end") {
  const TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) {
    WriteJpeg(folder / "source" / (std::to_string(i) + ".jpg"), MakePicture(300, 200, 3, i));
  }
  const Words words = {"convert", (folder / "source").string(), (folder / "data").string(),
                       "--threads", "1"};
  const Outcome outcome = Sluice(words, {.terminal_columns = 60});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("/40"));
  CHECK_THAT(outcome.err, ContainsSubstring("#"));
  CHECK(outcome.err.find('\n') == std::string::npos);
  CHECK(outcome.err.ends_with("\r\x1b[K"));
  for (std::size_t begin = 0; begin < outcome.err.size();) {
    const std::size_t end = std::min(outcome.err.find('\r', begin), outcome.err.size());
    CHECK(end - begin < 60 + 3);  // and the three bytes that clear the line
    begin = end + 1;
  }
  CHECK_THAT(outcome.out, ContainsSubstring("40 samples"));
}

TEST_CASE("options --json and --quiet keep progress off the terminal") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 3);
  const std::string flag = GENERATE("--json", "--quiet");
  const Words words = {"convert", (folder / "source").string(), (folder / "data").string(), flag};
  CHECK(Sluice(words, {.terminal_columns = 80}).err.empty());
  CHECK(Sluice({"verify", (folder / "data").string(), flag}, {.terminal_columns = 80}).err.empty());
  if (*SLUICE_BENCH_COMMAND == '\0') return;  // sanitized builds have none
  CHECK(Bench({"epoch", (folder / "data").string(), flag}, {.terminal_columns = 80}).err.empty());
}

}  // namespace sluice::test
