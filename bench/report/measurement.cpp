#include "bench/report/measurement.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/version.h>

#include "bench/machine/machine.h"
#include "bench/report/statistics.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"
#include "tools/cli/whole_file.h"

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

void WriteTextFile(const std::filesystem::path& path, const std::string& text) {
  cli::WriteWholeFile(path, text);
}

void WriteResult(const std::filesystem::path& path, const nlohmann::ordered_json& result) {
  WriteTextFile(
      path, result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

nlohmann::ordered_json ReadResult(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kNotFound, path.string(), "cannot be opened");
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

}  // namespace sluice::bench
