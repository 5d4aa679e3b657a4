// The output of sluice-bench's commands: tables of text for people, and results in JSON for
// `sluice-bench gate`, pages and scripts. bench/report/SCHEMA.md describes the JSON.
//
// A command that measures the whole product (epoch, compare, advise) makes its Answer itself and
// runs through RunMeasuring(). A command that measures one part runs through RunPart() and adds
// each measurement to a PartResult by one call, for table and JSON alike.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/option_list.h>

#include "bench/report/page.h"
#include "tools/cli/program.h"
#include "tools/cli/terminal.h"

namespace sluice::bench {

// The value of an option as JSON; an enumeration's value becomes its word.
template <class V>
nlohmann::ordered_json ValueJson(const V& value) {
  if constexpr (option_list::HasWords<V>) {
    return option_list::WordOf(value);
  } else {
    return value;
  }
}

// Adds a member for each option of the list.
template <class T, class... V>
void AddMembers(nlohmann::ordered_json& json, const T& options,
                const option_list::OptionList<T, V...>& list) {
  std::apply(
      [&](const auto&... option) {
        ((json[option.name] = ValueJson(options.*option.member)), ...);
      },
      list.options);
}

// Thrown by a measurement when a stop is requested.
struct Interrupted {};

inline void ThrowIfStopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

// How a measurement of several steps shows its progress, and how it is asked to stop.
struct StepHooks {
  // "round 2 of 3: ffcv", with the steps done and all steps.
  std::function<void(const std::string& activity, std::uint64_t done, std::uint64_t all)> on_step;
  std::stop_token stop;
};
StepHooks HooksOf(const std::stop_token& stop, cli::Progress& progress);

// One quantity that was measured several times.
struct Measurement {
  std::string name;  // "images_per_second"
  std::string unit;
  bool higher_is_better = true;
  std::vector<double> values;  // in the order in which they were measured
};

// {"schema", "command", "sluice_version", "machine", "measurements", "warnings"}; the command
// appends its own keys.
nlohmann::ordered_json ResultOf(const std::string& command,
                                const std::vector<Measurement>& measurements,
                                const std::vector<std::string>& warnings);

// Writes the result as one JSON value, or leaves `path` unchanged: Error(kIo).
void WriteResult(const std::filesystem::path& path, const nlohmann::ordered_json& result);
// Reads a result. Throws Error(kNotFound) if there is no such file, Error(kCorrupt) if the file is
// not a result.
nlohmann::ordered_json ReadResult(const std::filesystem::path& path);
// The measurements in a result. Throws Error(kCorrupt), which names `file`.
std::vector<Measurement> MeasurementsOf(const nlohmann::ordered_json& result,
                                        const std::string& file = "a result");

// Writes text to a file: first to a temporary file in the same folder, which then replaces the
// file. Writes directly if `path` is not a regular file (a pipe). Throws Error(kIo).
void WriteTextFile(const std::filesystem::path& path, const std::string& text);

// Adds a warning if other processes kept a tenth of a CPU or more busy on this machine.
void WarnOfLoad(double other_cpus, std::vector<std::string>& warnings);
// The text "warning: ..." for each warning, in lines of at most 100 columns.
std::string WarningsText(const std::vector<std::string>& warnings);

// A table of text. Each column is as wide as its widest cell. The first column is aligned left, and
// so is one whose heading begins with "<" (which is not shown); the others are aligned right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings);
  // A row may have fewer cells than there are columns; its last cell may then be of any length,
  // such as a sentence that says why the figures are missing.
  void Add(std::vector<std::string> cells);
  std::string Text() const { return Lines(0); }
  // The table as HTML, without a row of headings if all of them are empty.
  std::string Html() const;
  // The lines added since the last call, for a table that is printed while it grows. Spaces in its
  // headings reserve room for wider cells.
  std::string NewLines();

 private:
  std::string Lines(std::size_t begin) const;

  std::size_t shown_ = 0;   // lines that NewLines() has given
  std::vector<bool> left_;  // whether the column is aligned left
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;  // the headings first
};

// How a measurement is shown: values times `scale`, with `digits` digits after the point.
struct Shown {
  double scale = 1;
  int digits = 0;
};

// The results so far of a command that measures one part.
struct PartResult {
  std::vector<Measurement> measurements;
  nlohmann::ordered_json members;  // of the JSON result, besides those of ResultOf()
  std::string text;                // tables and sentences
  std::vector<std::string> warnings;

  // Adds the measurement to the result, and a row to the table: label, median, "least to most", and
  // cells for further columns.
  void Add(TextTable& table, const std::string& label, Measurement measured, Shown shown,
           std::vector<std::string> more = {});
  // Appends a sentence below the tables, in lines of at most 100 columns.
  void AddNote(const std::string& sentence);
};

// Where a command's result goes.
struct ResultOptions {
  std::string json_file, html_file;  // empty: none
  bool json = false, quiet = false;
  const CLI::App* app = nullptr;  // the command whose options the result records
};

// Adds --json, --json-file and --quiet. `app` must outlive the run.
void AddResultOptions(CLI::App& app, ResultOptions& options);
// Adds --html. Call it before AddResultOptions(), so that --help lists --html first.
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

// Like RunMeasuring(), for a command that measures one part. Also watches the load of other
// processes, which becomes the result's "other_cpus" and, if it is high, a warning.
using PartMeasuring =
    std::function<void(PartResult& part, const std::stop_token& stop, cli::Progress& progress)>;
int RunPart(const ResultOptions& options, const std::string& activity, const std::string& title,
            const PartMeasuring& measure);

}  // namespace sluice::bench
