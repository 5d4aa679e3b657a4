// In the order of a result's life: made, written and read back, shown as tables, and delivered by
// RunMeasuring(). The order in RunMeasuring() matters. Output files are checked before the
// measurement, so that a wrong path does not cost its result. The Interrupt is made before any
// thread of the measurement. Once a stop is requested, any Error counts as the interruption. The
// options that the user gave are added last and here, not by the commands, so that no command can
// leave them out.
#include "bench/report/result.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/shown_path.h>
#include <sluice/version.h>

#include "bench/machine/machine.h"
#include "bench/report/page.h"
#include "bench/report/statistics.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/cli/terminal.h"

namespace sluice::bench {

namespace {

constexpr const char* kSchema = "sluice-bench/1";

nlohmann::ordered_json MachineJson(const Machine& machine) {
  return {
      {"cpu", machine.cpu},       {"cpus", machine.cpus}, {"memory_bytes", machine.memory_bytes},
      {"system", machine.system}, {"isa", machine.isa},   {"compiler", machine.compiler}};
}

}  // namespace

nlohmann::ordered_json ResultOf(const std::string& command,
                                const std::vector<Measurement>& measurements,
                                const std::vector<std::string>& warnings) {
  auto list = nlohmann::ordered_json::array();
  for (const Measurement& one : measurements) {
    // A figure that this machine cannot measure is left out, so that a gate does not compare it.
    if (one.values.empty()) continue;
    const Spread spread = SpreadOf(one.values);
    list.push_back({{"name", one.name},
                    {"unit", one.unit},
                    {"better", one.higher_is_better ? "higher" : "lower"},
                    {"median", spread.median},
                    {"least", spread.least},
                    {"most", spread.most},
                    {"values", one.values}});
  }
  return {{"schema", kSchema},
          {"command", command},
          {"sluice_version", kLibraryVersion},
          {"machine", MachineJson(ThisMachine())},
          {"measurements", list},
          {"warnings", warnings}};
}

StepHooks HooksOf(const std::stop_token& stop, cli::Progress& progress) {
  return {[&progress](const std::string& activity, std::uint64_t done, std::uint64_t all) {
            progress.SetActivity(activity);
            progress.Update(done, all);
          },
          stop};
}

void WriteTextFile(const std::filesystem::path& path, const std::string& text) {
  cli::WriteWholeFile(path, text);
}

void WriteResult(const std::filesystem::path& path, const nlohmann::ordered_json& result) {
  WriteTextFile(
      path, result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

nlohmann::ordered_json ReadResult(const std::filesystem::path& path) {
  std::ifstream file = cli::OpenToRead(path);
  auto result = nlohmann::ordered_json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("schema") || result["schema"] != kSchema) {
    throw Error(ErrorCode::kCorrupt, path.string(),
                std::string("is not a result of sluice-bench (schema ") + kSchema +
                    "); write one with --json-file");
  }
  return result;
}

std::vector<Measurement> MeasurementsOf(const nlohmann::ordered_json& result,
                                        const std::string& file) {
  std::vector<Measurement> measurements;
  try {
    for (const auto& one : result.at("measurements")) {
      measurements.push_back({one.at("name").get<std::string>(), one.at("unit").get<std::string>(),
                              one.at("better").get<std::string>() == "higher",
                              one.at("values").get<std::vector<double>>()});
    }
  } catch (const nlohmann::json::exception&) {
    throw Error(
        ErrorCode::kCorrupt, file,
        "its measurements do not have the form of a result; measure again with --json-file");
  }
  return measurements;
}

void WarnOfLoad(double other_cpus, std::vector<std::string>& warnings) {
  constexpr double kWorthMentioning = 0.1;
  if (other_cpus < kWorthMentioning) return;
  warnings.push_back(cli::Format(
      "other processes kept %.1f of the machine's CPUs busy meanwhile; measure again on a quiet "
      "machine before you rely on a figure",
      other_cpus));
}

std::string WarningsText(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings)
    text += cli::Wrapped("warning: " + warning, 100) + "\n";
  return text;
}

TextTable::TextTable(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    const bool marked = heading.starts_with('<');
    if (marked) heading.erase(0, 1);
    left_.push_back(marked || left_.empty());
  }
  widths_.resize(left_.size());
  Add(std::move(headings));
}

void TextTable::Add(std::vector<std::string> cells) {
  // The last cell of a short line may be a sentence, which must not widen its column.
  for (std::size_t c = 0; c < cells.size(); ++c)
    if (cells.size() == left_.size() || c + 1 < cells.size())
      widths_[c] = std::max(widths_[c], cells[c].size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::NewLines() {
  // The table is printed while it grows; lines that were printed keep the widths of that moment.
  const std::size_t begin = shown_;
  shown_ = rows_.size();
  return Lines(begin);
}

std::string TextTable::Lines(std::size_t begin) const {
  std::string text;
  for (std::size_t r = begin; r < rows_.size(); ++r) {
    const std::vector<std::string>& row = rows_[r];
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths_[c] - std::min(widths_[c], row[c].size()), ' ');
      const bool left = left_[c] || (c + 1 == row.size() && row.size() < left_.size());
      line += (c > 0 ? "  " : "") + (left ? row[c] + padding : padding + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string TextTable::Html() const {
  const bool headless = std::ranges::all_of(rows_.front(), &std::string::empty);
  std::string html = "<table>\n";
  for (std::size_t r = headless ? 1 : 0; r < rows_.size(); ++r) {
    const std::string tag = r == 0 ? "th" : "td";
    html += "<tr>";
    for (std::size_t c = 0; c < rows_[r].size(); ++c) {
      html += "<" + tag + (c > 0 && left_[c] ? " class=\"text\">" : ">") +
              cli::HtmlEscaped(rows_[r][c]) + "</" + tag + ">";
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

void PartResult::Add(TextTable& table, const std::string& label, Measurement measured, Shown shown,
                     std::vector<std::string> more) {
  const Spread spread = SpreadOf(measured.values);
  const auto number = [&](double value) {
    return cli::Format("%.*f", shown.digits, shown.scale * value);
  };
  std::vector<std::string> cells = {label, number(spread.median),
                                    number(spread.least) + " to " + number(spread.most)};
  cells.insert(cells.end(), more.begin(), more.end());
  table.Add(std::move(cells));
  measurements.push_back(std::move(measured));
}

void PartResult::AddNote(const std::string& sentence) {
  text += cli::Wrapped(sentence, 100) + "\n";
}

namespace {

// The options that the user gave, as written: {"--lanes": ["64"], "--direct": []}. `sluice-bench
// gate` requires them to agree in both results, except those that MarkMayDiffer() or
// OptionFacts::comparable marks. So the values of a new option must agree unless it gets a mark.
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
  cli::MarkMayDiffer(app, {"--html"});
}

void AddResultOptions(CLI::App& app, ResultOptions& options) {
  options.app = &app;
  app.add_option("--json-file", options.json_file,
                 "also write the result as JSON, for `sluice-bench gate`")
      ->type_name("FILE");
  app.add_flag("--json", options.json, "print one JSON object to standard output, and no progress");
  app.add_flag("--quiet", options.quiet, "no progress on standard error");
  cli::MarkMayDiffer(app, {"--json-file", "--json", "--quiet"});
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
  } catch (const Error&) {  // the library throws this when a stop is requested
    if (interrupt.requested()) return interrupted();
    throw;
  }
  progress.Erase();
  answer.result["options"] = GivenOptions(*options.app);
  Deliver(options, answer);
  return cli::kDone;
}

int RunPart(const ResultOptions& options, const std::string& activity, const std::string& title,
            const PartMeasuring& measure) {
  return RunMeasuring(
      options, activity, title, [&](const std::stop_token& stop, cli::Progress& progress) {
        PartResult part;
        const LoadWatch others;
        measure(part, stop, progress);
        part.members["other_cpus"] = others.OtherCpus();
        WarnOfLoad(part.members["other_cpus"], part.warnings);
        Answer answer;
        answer.text = part.text + WarningsText(part.warnings);
        answer.result = ResultOf(options.app->get_name(), part.measurements, part.warnings);
        answer.result.update(part.members);
        return answer;
      });
}

}  // namespace sluice::bench
