// What every command's result holds beside what is its own: bench/report/SCHEMA.md has the schema.
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
  std::vector<double> values;  // in the order in which they were taken
};

// {"schema", "command", "sluice_version", "machine", "measurements", "warnings"}; the command adds
// its own keys behind.
nlohmann::ordered_json ResultOf(const std::string& command,
                                const std::vector<Measurement>& measurements,
                                const std::vector<std::string>& warnings);

// Writes the result as one JSON value, or leaves `path` as it was: Error(kIo).
void WriteResult(const std::filesystem::path& path, const nlohmann::ordered_json& result);
// Reads one back. Error(kNotFound, kCorrupt) where there is none, or it is no result.
nlohmann::ordered_json ReadResult(const std::filesystem::path& path);
// The measurements in it. Error(kCorrupt), which names `file`.
std::vector<Measurement> MeasurementsOf(const nlohmann::ordered_json& result,
                                        const std::string& file = "a result");

// Writes text to a file, through a temporary one beside it; into what is no regular file (a pipe)
// directly. Error(kIo).
void WriteTextFile(const std::filesystem::path& path, const std::string& text);

// One for a machine on which others kept `other_cpus` CPUs busy; nothing below a tenth of one.
void WarnOfLoad(double other_cpus, std::vector<std::string>& warnings);
// "warning: ..." for each, in lines of at most 100 columns.
std::string WarningsText(const std::vector<std::string>& warnings);

}  // namespace sluice::bench
