// What the commands that measure have in common: where a result goes, and how they end when they
// are interrupted.
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
};

// --json, --json-file and --quiet.
void AddResultOptions(CLI::App& app, ResultOptions& options);
// --html; before those.
void AddPageOption(CLI::App& app, ResultOptions& options);

struct Answer {
  std::string text;  // for people
  nlohmann::ordered_json result;
  std::vector<TraceBar> bars;  // for the page; may be empty
};

// Throws Error(kIo) where nothing could be written to `path` later on; an empty one is no file.
void CheckWritable(const std::string& path);

// Runs `measure` and puts its answer where `options` say; returns the program's exit code. Files
// that cannot be written are found before anything is measured. `measure` may end by Interrupted,
// or by any Error once it has been told to stop. `activity` and `title` are cli::Progress's.
using Measuring = std::function<Answer(const std::stop_token& stop, cli::Progress& progress)>;
int RunMeasuring(const ResultOptions& options, const std::string& activity,
                 const std::string& title, const Measuring& measure);

}  // namespace sluice::bench
