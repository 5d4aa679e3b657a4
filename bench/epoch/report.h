// The output of `sluice-bench epoch`: tables of at most 100 columns, or one JSON object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/epoch/experiments.h"
#include "bench/epoch/run.h"
#include "bench/report/result.h"

namespace sluice::bench {

// All results of one run of epochs.
struct EpochReport {
  const EpochOptions& options;
  std::string transform;  // as it was typed
  EpochsRun run;
  std::vector<Stage> stages;
  double wanted_utilisation = 0;         // required by a profile; 0: none
  std::optional<PipelineCost> pipeline;  // if there is a training step
  std::vector<std::string> warnings;
  std::vector<double> stop_seconds;          // time to destroy a loader in the middle of an epoch
  std::optional<ConversionGain> conversion;  // for a source that is played without one
};

// Warnings about a run that is too short to tell much, about epochs that differ much, and about a
// machine that was busy with other work.
std::vector<std::string> WarningsOf(const EpochOptions& options, const EpochsRun& run);

// The table of epochs. Prints each epoch's row to standard output as the epoch ends.
class EpochTable {
 public:
  explicit EpochTable(const EpochOptions& options);
  void PrintRow(const EpochFigures& figures);

 private:
  const EpochOptions& options_;
  TextTable table_;
  std::uint64_t rows_ = 0;
};

// The text below the table: medians, stages, the pipeline's cost, the verdict.
std::string TextOf(const EpochReport& report);
nlohmann::ordered_json JsonOf(const EpochReport& report);

std::string TextOf(const ThreadCurve& curve);
nlohmann::ordered_json JsonOf(const ThreadCurve& curve, const EpochOptions& options,
                              const std::string& transform,
                              const std::vector<std::string>& warnings);

// The table of the trials of --find-accelerators. Row() adds a trial, and returns its row as text.
class AcceleratorTable {
 public:
  explicit AcceleratorTable(double wanted);
  std::string Row(const AcceleratorTrial& trial);

 private:
  double wanted_;  // required utilisation
  TextTable table_;
};

std::string TextOf(const AcceleratorSearch& search, const EpochOptions& options,
                   const std::string& profile);
nlohmann::ordered_json JsonOf(const AcceleratorSearch& search, const EpochOptions& options,
                              const std::string& transform, const std::string& profile,
                              const std::vector<std::string>& warnings);

// Warns on standard error if a cold epoch was not as cold as requested.
void WarnLeftInCache(const EpochFigures& figures);

}  // namespace sluice::bench
