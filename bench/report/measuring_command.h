// The common part of the commands that measure: where the result goes, and how they end if
// interrupted.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/epoch/trace.h"
#include "tools/cli/program.h"
#include "tools/cli/progress.h"

namespace sluice::bench {

struct ResultOptions {
  std::string json_file, html_file;  // empty: none
  bool json = false, quiet = false;
  const CLI::App* app = nullptr;  // the command, whose options a result records
};

// --json, --json-file and --quiet. `app` must outlive the run.
void AddResultOptions(CLI::App& app, ResultOptions& options);
// --html; call it before AddResultOptions().
void AddPageOption(CLI::App& app, ResultOptions& options);

struct Answer {
  std::string text;  // for people
  nlohmann::ordered_json result;
  std::vector<TraceBar> bars;  // for the page; may be empty
};

// Throws Error(kIo) if writing to `path` later would fail; an empty path means no file.
void CheckWritable(const std::string& path);

// Runs `measure` and writes its answer where `options` say; returns the program's exit code. Files
// that cannot be written are found before the measurement starts. `measure` may end by Interrupted,
// or by any Error after it has been told to stop. `activity` and `title` are cli::Progress's.
using Measuring = std::function<Answer(const std::stop_token& stop, cli::Progress& progress)>;
int RunMeasuring(const ResultOptions& options, const std::string& activity,
                 const std::string& title, const Measuring& measure);

}  // namespace sluice::bench
