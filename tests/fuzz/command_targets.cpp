// Commands of `sluice` in this process, with their output discarded.
#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "tests/fuzz/forged_folder.h"
#include "tests/fuzz/forged_targets.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"

namespace sluice::fuzz {

namespace {

// Discards standard output while it lives.
class Silence {
 public:
  Silence() : before_(dup(STDOUT_FILENO)) {
    const FileHandle nowhere(open("/dev/null", O_WRONLY));
    dup2(nowhere.get(), STDOUT_FILENO);
  }
  ~Silence() { dup2(before_.get(), STDOUT_FILENO); }

 private:
  FileHandle before_;
};

void RunCommand(cli::Command (*add)(CLI::App&), std::vector<std::string> words) {
  CLI::App program;
  const cli::Command command = add(program);
  std::reverse(words.begin(), words.end());  // the parser takes them in reverse
  program.parse(std::move(words));
  const Silence silence;
  try {
    command.run();
  } catch (const cli::UsageError& error) {
    PromiseSentence(error.what());
  }
}

void UseInspect(const ForgedFolder& folder) {
  std::vector<std::string> words = {"inspect", folder.dataset};
  if (folder.use % 2 == 0) words.emplace_back("--json");
  if (folder.use / 2 % 4 == 0) words.insert(words.end(), {"--sample", "2"});
  if (folder.use / 2 % 4 == 1) words.insert(words.end(), {"--key", "some/5.jpg"});
  if (folder.use / 8 % 2 == 0) words.emplace_back("--shards");
  RunCommand(AddInspectCommand, words);
}

void UseStats(const ForgedFolder& folder) {
  std::vector<std::string> words = {"stats", folder.dataset, "--quiet", "--threads", "1"};
  if (folder.use % 2 == 0) words.emplace_back("--json");
  RunCommand(AddStatsCommand, words);
}

void UseWhen(const ForgedFolder& folder) {
  std::vector<std::string> words = {"when", folder.dataset, "--batch-size", "2"};
  words.insert(words.end(), {folder.use % 2 == 0 ? "--key" : "--sample",
                             folder.use % 2 == 0 ? "some/5.jpg" : "2"});
  if (folder.use / 2 % 2 == 0) words.emplace_back("--json");
  if (folder.use / 4 % 2 == 0) words.insert(words.end(), {"--world-size", "2", "--by-shards"});
  RunCommand(AddWhenCommand, words);
}

void UsePreview(const ForgedFolder& folder) {
  RunCommand(AddPreviewCommand,
             {"preview", folder.dataset,
              folder.out.string() + (folder.use % 2 == 0 ? ".html" : ".png"), "--quiet"});
}

void UseExport(const ForgedFolder& folder) {
  RunCommand(AddExportCommand, {"export", folder.dataset, folder.out, "--json"});
}

}  // namespace

std::span<const Target> CommandTargets() {
  static constexpr Target kTargets[] = {
      OverForged<UseInspect>("inspect"), OverForged<UseStats>("stats"), OverForged<UseWhen>("when"),
      OverForged<UsePreview>("preview"), OverForged<UseExport>("export")};
  return kTargets;
}

}  // namespace sluice::fuzz
