// Shell completion and manual pages: made from the options, so that they cannot say anything else.
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

// Shells are this machine's own, and Run() would start them in the emulator.
bool Emulated() {
  return !std::string_view(SLUICE_EMULATOR).empty();
}

// What bash offers for the last of `words`, sorted.
Words Offered(const TemporaryFolder& folder, const std::string& program, const std::string& words) {
  const std::string function = "_" + std::string(program == "sluice" ? program : "sluice_bench");
  const std::string script = "source '" + (folder / "script").string() +
                             "'\ncompopt() { :; }\nCOMP_WORDS=(" + words +
                             ")\nCOMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n" + function +
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

TEST_CASE("completion bash offers commands, options, the words of a choice, and files") {
  if (Emulated()) return;
  const TemporaryFolder folder;
  WriteBytes(folder / "script", Sluice({"completion", "bash"}).out);
  WriteBytes(folder / "images/labels.csv", "path,label\n");
  const std::string images = (folder / "images").string();
  CHECK(Offered(folder, "sluice", "sluice ver") == Words{"verify"});
  CHECK(Offered(folder, "sluice", "sluice --v") == Words{"--version"});
  CHECK(Offered(folder, "sluice", "sluice convert --sh") == Words{"--shard-size", "--short-side"});
  CHECK(Offered(folder, "sluice", "sluice convert --fit ''") == Words{"crop", "pad", "stretch"});
  CHECK(Offered(folder, "sluice", "sluice convert --quality ''").empty());
  CHECK(Offered(folder, "sluice", "sluice convert " + images.substr(0, images.size() - 1)) ==
        Words{images});
  CHECK(Offered(folder, "sluice", "sluice convert --table " + images + "/l") ==
        Words{images + "/labels.csv"});
  CHECK(Offered(folder, "sluice", "sluice convert --mask-dir " + images + "/l").empty());
}

TEST_CASE("both programs complete and have a page for each of their commands") {
  if (Emulated()) return;
  const auto [name, command] = GENERATE(table<std::string, std::string>(
      {{"sluice", SLUICE_COMMAND}, {"sluice-bench", SLUICE_BENCH_COMMAND}}));
  const TemporaryFolder folder;
  WriteBytes(folder / "script", Run(command, {"completion", "bash"}).out);
  const Words commands = Offered(folder, name, name + " ''");
  CHECK(commands.size() >= 4);
  CHECK(Run(command, {"manual", (folder / "man1").string()}).exit_code == 0);
  for (const std::string& one : commands) {
    if (one.starts_with("-")) continue;
    INFO(one);
    const std::string page = ContentOf(folder / "man1" / (name + "-" + one + ".1"));
    const std::string help = Run(command, {one, "--help"}).out;
    CHECK_THAT(page, ContainsSubstring(".SH NAME"));
    // Every option of --help is there, its hyphens as troff wants them.
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  --")) continue;
      std::string option = line.substr(2, line.find(' ', 2) - 2);
      const Words offered = Offered(folder, name, name + " " + one + " " + option);
      CHECK(std::find(offered.begin(), offered.end(), option) != offered.end());
      for (std::size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2)
        option.insert(at, "\\");
      CHECK_THAT(page, ContainsSubstring("\n\\fB" + option + "\\fR"));
    }
  }
}

TEST_CASE("completion for a shell that is not known is wrong usage") {
  const Outcome outcome = Sluice({"completion", "tcl"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("bash, zsh"));
}

TEST_CASE("completion zsh is a script that zsh takes") {
  const TemporaryFolder folder;
  WriteBytes(folder / "script", Sluice({"completion", "zsh"}).out);
  CHECK_THAT(ContentOf(folder / "script"), ContainsSubstring("'--fit[what --size does") &&
                                               ContainsSubstring(":HOW:(crop stretch pad)'"));
  if (Emulated() || !std::filesystem::exists("/usr/bin/zsh")) return;
  const Outcome outcome = Run("/usr/bin/zsh", {"-n", (folder / "script").string()});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
}

}  // namespace sluice::test
