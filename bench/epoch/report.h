// What `sluice-bench epoch` says: tables of at most 100 columns, or one JSON object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/epoch/accelerators.h"
#include "bench/epoch/run.h"
#include "bench/epoch/stages.h"
#include "bench/epoch/step_alone.h"
#include "bench/epoch/thread_curve.h"

namespace sluice::bench {

// All that was found out about an epoch.
struct EpochReport {
  const EpochOptions& options;
  std::string transform;  // as it was typed
  EpochsRun run;
  std::vector<Stage> stages;
  double wanted_utilisation = 0;         // of a profile; 0: none
  std::optional<PipelineCost> pipeline;  // where there is a training step
  std::vector<std::string> warnings;
  std::vector<double> stop_seconds;  // of loaders dropped in the middle of an epoch
};

// Of a run that tells too little, or on a machine that had other things to do.
std::vector<std::string> WarningsOf(const EpochOptions& options, const EpochsRun& run);

// The table of epochs, a row as each ends. To standard output.
class EpochTable {
 public:
  explicit EpochTable(const EpochOptions& options) : options_(options) {}
  void PrintRow(const EpochFigures& figures);

 private:
  const EpochOptions& options_;
  std::uint64_t rows_ = 0;
};

// What stands below the table: medians, stages, the pipeline's cost, the verdict.
std::string TextOf(const EpochReport& report);
nlohmann::ordered_json JsonOf(const EpochReport& report);

std::string TextOf(const ThreadCurve& curve);
nlohmann::ordered_json JsonOf(const ThreadCurve& curve, const EpochOptions& options,
                              const std::string& transform,
                              const std::vector<std::string>& warnings);

std::string RowOf(const AcceleratorTrial& trial, bool first, double wanted);
std::string TextOf(const AcceleratorSearch& search, const EpochOptions& options,
                   const std::string& profile);
nlohmann::ordered_json JsonOf(const AcceleratorSearch& search, const EpochOptions& options,
                              const std::string& transform, const std::string& profile,
                              const std::vector<std::string>& warnings);

// Says on standard error that an epoch was not as cold as asked for.
void WarnLeftInCache(const EpochFigures& figures);

}  // namespace sluice::bench
