// Shell completion, for which the shell asks the program, and manual pages, which help2man makes
// from the program's --help.
#include <algorithm>
#include <sstream>
#include <string_view>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// Whether Run() starts programs in an emulator. It cannot run shells: they are built for this
// machine.
bool Emulated() {
  return !std::string_view(SLUICE_EMULATOR).empty();
}

// The sorted completions that bash offers for the last of `words`, which follow the program.
Words Offered(const TemporaryFolder& folder, const std::string& program, const std::string& words) {
  const std::string script = "source '" + (folder / "script").string() +
                             "'\ncompopt() { :; }\nCOMP_WORDS=('" + program + "' " + words +
                             ")\nCOMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n" +
                             (program == SLUICE_COMMAND ? "_sluice" : "_sluice_bench") +
                             "\n[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const Outcome outcome = Run("/bin/bash", {"-c", script});
  CHECK(outcome.err.empty());
  CHECK(outcome.exit_code == 0);
  Words offered;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);)
    offered.push_back(line);
  std::sort(offered.begin(), offered.end());
  return offered;
}

}  // namespace

TEST_CASE("completion in bash offers commands, options, the words of a choice, and files") {
  if (Emulated()) return;
  const TemporaryFolder folder;
  WriteBytes(folder / "script", Sluice({"completion", "bash"}).out);
  WriteBytes(folder / "images/labels.csv", "path,label\n");
  const std::string images = (folder / "images").string();
  CHECK(Offered(folder, SLUICE_COMMAND, "ver") == Words{"verify"});
  CHECK(Offered(folder, SLUICE_COMMAND, "--v") == Words{"--version"});
  CHECK(Offered(folder, SLUICE_COMMAND, "convert --sh") == Words{"--shard-bytes", "--short-side"});
  CHECK(Offered(folder, SLUICE_COMMAND, "convert --fit ''") == Words{"crop", "pad", "stretch"});
  CHECK(Offered(folder, SLUICE_COMMAND, "convert --channels ''") == Words{"1", "3"});
  CHECK(Offered(folder, SLUICE_COMMAND, "convert --quality ''").empty());
  CHECK(Offered(folder, SLUICE_COMMAND, "convert " + images.substr(0, images.size() - 1)) ==
        Words{images});
  CHECK(Offered(folder, SLUICE_COMMAND, "convert --table " + images + "/l") ==
        Words{images + "/labels.csv"});
  CHECK(Offered(folder, SLUICE_COMMAND, "convert --mask-folder " + images + "/l").empty());
}

TEST_CASE("both programs complete every command and each of its options") {
  if (Emulated()) return;
  const std::string program = GENERATE(SLUICE_COMMAND, SLUICE_BENCH_COMMAND);
  const TemporaryFolder folder;
  WriteBytes(folder / "script", Run(program, {"completion", "bash"}).out);
  const Words commands = Offered(folder, program, "''");
  CHECK(commands.size() >= 8);
  for (const std::string& one : commands) {
    if (one.starts_with("-")) continue;
    INFO(one);
    const Words offered = Offered(folder, program, one + " -");
    std::istringstream lines(Run(program, {one, "--help"}).out);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  --")) continue;
      const std::string option = line.substr(2, line.find(' ', 2) - 2);
      CHECK(std::count(offered.begin(), offered.end(), option) == 1);
    }
  }
}

TEST_CASE("help2man makes a page of each command, with its options, and examples line by line") {
  if (Emulated() || !std::filesystem::exists("/usr/bin/help2man")) return;
  const TemporaryFolder folder;
  const Outcome made =
      Run(SLUICE_MANUAL_SCRIPT, {"sluice", folder.path().string(), SLUICE_COMMAND});
  CHECK(made.err.empty());
  REQUIRE(made.exit_code == 0);
  const std::string program = ContentOf(folder / "sluice.1");
  CHECK_THAT(program, ContainsSubstring(".TH SLUICE ") &&
                          ContainsSubstring("sluice \\- Compiles folders of images"));
  const std::string page = ContentOf(folder / "sluice-convert.1");
  CHECK_THAT(page, ContainsSubstring(".TH SLUICE-CONVERT ") &&
                       ContainsSubstring("sluice-convert \\- Compiles images into a dataset\n") &&
                       ContainsSubstring(".SH EXAMPLES") &&
                       ContainsSubstring(".SS \"Exit status:\"") &&
                       ContainsSubstring("\\f(CW$ sluice convert photos/ data/photos\\fR\n"));
  for (const std::string command : {"convert", "verify", "preview", "completion"}) {
    const std::string text = ContentOf(folder / ("sluice-" + command + ".1"));
    std::istringstream lines(Sluice({command, "--help"}).out);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  --")) continue;
      // troff writes a hyphen as \-.
      std::string option = line.substr(2, line.find(' ', 2) - 2);
      for (std::size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2)
        option.insert(at, "\\");
      CHECK_THAT(text, ContainsSubstring("\n\\fB" + option + "\\fR"));
    }
  }
}

TEST_CASE("completion for an unknown shell is wrong usage") {
  const Outcome outcome = Sluice({"completion", "tcl"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("bash, zsh"));
}

TEST_CASE("completion for zsh is a script that zsh accepts") {
  const TemporaryFolder folder;
  WriteBytes(folder / "script", Sluice({"completion", "zsh"}).out);
  if (Emulated() || !std::filesystem::exists("/usr/bin/zsh")) return;
  const Outcome outcome = Run("/usr/bin/zsh", {"-n", (folder / "script").string()});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
}

}  // namespace sluice::test
