// The members that every command's result has besides its own: bench/report/SCHEMA.md has the
// schema.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace sluice::bench {

// One thing that was measured several times.
struct Measurement {
  std::string name;  // "images_per_second"
  std::string unit;
  bool higher_is_better = true;
  std::vector<double> values;  // in the order of measurement
};

// {"schema", "command", "sluice_version", "machine", "measurements", "warnings"}; the command
// appends its own keys.
nlohmann::ordered_json ResultOf(const std::string& command,
                                const std::vector<Measurement>& measurements,
                                const std::vector<std::string>& warnings);

// Writes the result as one JSON value, or leaves `path` unchanged: Error(kIo).
void WriteResult(const std::filesystem::path& path, const nlohmann::ordered_json& result);
// Reads a result. Error(kNotFound) if there is none, Error(kCorrupt) if it is not a result.
nlohmann::ordered_json ReadResult(const std::filesystem::path& path);
// The measurements in a result. Error(kCorrupt), which names `file`.
std::vector<Measurement> MeasurementsOf(const nlohmann::ordered_json& result,
                                        const std::string& file = "a result");

// Writes text to a file through a temporary file beside it; directly if `path` is not a regular
// file (a pipe). Error(kIo).
void WriteTextFile(const std::filesystem::path& path, const std::string& text);

// Adds a warning if other processes kept a tenth of a CPU or more busy on this machine.
void WarnOfLoad(double other_cpus, std::vector<std::string>& warnings);
// "warning: ..." for each, in lines of at most 100 columns.
std::string WarningsText(const std::vector<std::string>& warnings);

}  // namespace sluice::bench
