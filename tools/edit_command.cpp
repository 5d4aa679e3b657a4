// RunEdit() decides what counts as an interruption: an Error(kState) after a signal. Any other
// Error is reported as itself, even if a signal came first, and work that was finished in spite of
// a signal counts as done. The progress line is erased before anything else is printed, also before
// an Error leaves. Warnings do not go to standard error with --json, since MadeJson() has them.
#include "tools/edit_command.h"

#include <cstdio>

#include <CLI/CLI.hpp>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"
#include "tools/cli/terminal.h"

namespace sluice {

using cli::CountText;

void AddOutputOptions(CLI::App& app, EditOutput& output) {
  app.add_flag("--json", output.json, "print one JSON object to standard output, and no progress");
  app.add_flag("--quiet", output.quiet, "print errors only");
}

void AddMetaOption(CLI::App& app, std::map<std::string, std::string>& meta, const char* help) {
  const auto take = [&meta](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::size_t at = text.find('=');
      if (at == std::string::npos || at == 0)
        throw cli::UsageError("--meta: \"" + text + "\" is not NAME=VALUE");
      const std::string name = text.substr(0, at);
      if (!meta.emplace(name, text.substr(at + 1)).second)
        throw cli::UsageError("--meta: \"" + name + "\" is given twice");
    }
  };
  app.add_option_function<std::vector<std::string>>("--meta", take, help)
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

void AddDirectOption(CLI::App& app, bool& direct) {
  app.add_flag("--direct", direct,
               "write shards past the page cache (O_DIRECT), so that other programs' files stay "
               "cached; the shards have the same bytes");
}

bool RunEdit(const EditOutput& output, const std::string& activity, const std::string& title,
             const std::function<void(const EditHooks&)>& work) {
  const cli::Interrupt interrupt;
  cli::Progress progress(cli::ProgressStyleFor(output.json || output.quiet), activity, title);
  EditHooks hooks;
  hooks.stop = interrupt.token();
  hooks.direct = output.direct;
  hooks.meta = output.meta;
  hooks.on_progress = [&progress](std::uint64_t done, std::uint64_t total) {
    progress.Update(done, total);
  };
  try {
    work(hooks);
  } catch (const Error& error) {
    progress.Erase();
    if (!interrupt.requested() || error.code() != ErrorCode::kState) throw;
    std::fprintf(stderr, "sluice: interrupted: %s\n", cli::Printable(error.what()).c_str());
    return false;
  }
  progress.Erase();
  return true;
}

void PrintWarnings(const EditOutput& output, const EditSummary& summary) {
  if (output.json || output.quiet) return;
  for (const std::string& warning : summary.warnings) {
    std::fprintf(stderr, "sluice: warning: %s\n", cli::Printable(warning).c_str());
  }
}

std::string MadeLine(const std::string& dataset, const EditSummary& summary) {
  std::string text =
      cli::Printable(dataset) + ": " + CountText(summary.samples, "sample", "samples");
  if (!summary.classes.empty()) {
    text += " of " + CountText(summary.classes.size(), "class", "classes");
  }
  text += " in " + CountText(summary.shards, "shard", "shards");
  if (summary.shards_linked > 0) {
    text += " (" + std::to_string(summary.shards_linked) + " taken over unchanged)";
  }
  return text + ", " + cli::BytesText(summary.bytes) + "\n";
}

nlohmann::ordered_json MadeJson(const std::string& dataset, const EditSummary& summary) {
  return {{"dataset", ShownPath(dataset)},
          {"samples", summary.samples},
          {"classes", summary.classes},
          {"shards", summary.shards},
          {"shards_linked", summary.shards_linked},
          {"bytes", summary.bytes},
          {"warnings", summary.warnings}};
}

}  // namespace sluice
