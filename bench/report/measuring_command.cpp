#include "bench/report/measuring_command.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "bench/report/interrupted.h"
#include "bench/report/measurement.h"
#include "bench/report/page.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output.h"

namespace sluice::bench {
namespace {

// The options that the user gave, as written: {"--lanes": ["64"], "--direct": []}. `sluice-bench
// gate` compares them, so an option of a command is compared without being named anywhere else.
nlohmann::ordered_json GivenOptions(const CLI::App& app) {
  auto given = nlohmann::ordered_json::object();
  for (const CLI::Option* const option : app.get_options()) {
    if (option->empty() || option->get_positional()) continue;
    auto& values = given[option->get_name()] = nlohmann::ordered_json::array();
    if (option->get_items_expected() == 0) continue;  // a flag
    for (const std::string& value : option->results())
      values.push_back(ShownPath(value));
  }
  return given;
}

void Deliver(const ResultOptions& options, const Answer& answer) {
  if (options.json) {
    cli::PrintJson(answer.result);
  } else {
    cli::PrintOut(answer.text);
  }
  if (!options.json_file.empty()) WriteResult(options.json_file, answer.result);
  if (!options.html_file.empty())
    WriteTextFile(options.html_file, PageOf(answer.result, answer.bars));
}

}  // namespace

void AddPageOption(CLI::App& app, ResultOptions& options) {
  app.add_option("--html", options.html_file, "also write a page with plots, in one file")
      ->type_name("FILE");
}

void AddResultOptions(CLI::App& app, ResultOptions& options) {
  options.app = &app;
  app.add_option("--json-file", options.json_file,
                 "also write the result as JSON, for `sluice-bench gate`")
      ->type_name("FILE");
  app.add_flag("--json", options.json,
               "print one JSON object to standard output, and no\nprogress");
  app.add_flag("--quiet", options.quiet, "no progress on standard error");
}

void CheckWritable(const std::string& path) {
  if (path.empty()) return;
  const auto fail = [&](const std::string& reason) {
    throw Error(ErrorCode::kIo, path, "cannot be written: " + reason);
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) fail("it is a folder");
  // A regular file is replaced by a rename; anything else is written to directly.
  std::filesystem::path place = std::filesystem::path(path).parent_path();
  if (place.empty()) place = ".";
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) place = path;
  if (access(place.c_str(), W_OK) != 0) fail(std::generic_category().message(errno));
}

int RunMeasuring(const ResultOptions& options, const std::string& activity,
                 const std::string& title, const Measuring& measure) {
  CheckWritable(options.json_file);
  CheckWritable(options.html_file);
  const cli::Interrupt interrupt;
  cli::Progress progress(cli::ProgressStyleFor(options.json || options.quiet), activity, title);
  const auto interrupted = [&] {
    progress.Erase();
    std::fputs("sluice-bench: interrupted\n", stderr);
    return cli::kInterrupted;
  };
  Answer answer;
  try {
    answer = measure(interrupt.token(), progress);
  } catch (const Interrupted&) {
    return interrupted();
  } catch (const Error&) {  // the library's error for a stop
    if (interrupt.requested()) return interrupted();
    throw;
  }
  progress.Erase();
  answer.result["options"] = GivenOptions(*options.app);
  Deliver(options, answer);
  return cli::kDone;
}

}  // namespace sluice::bench
