// What `sluice-bench epoch` says: a table of at most 100 columns, or one JSON object.
#pragma once

#include <string>

#include "bench/epoch_run.h"

namespace sluice::bench {

// The table, a row as each epoch ends. To standard output.
class EpochTable {
 public:
  EpochTable(const EpochOptions& options, std::string transform)
      : options_(options), transform_(std::move(transform)) {}
  void PrintRow(const EpochFigures& figures);
  // The median, the time to the first batch, the floor.
  void PrintEnd(const EpochsRun& run);

 private:
  const EpochOptions& options_;
  std::string transform_;
  std::uint64_t rows_ = 0;
};

void PrintEpochsJson(const EpochOptions& options, const std::string& transform,
                     const EpochsRun& run);

// Says on standard error that an epoch was not as cold as asked for.
void WarnLeftInCache(const EpochFigures& figures);

}  // namespace sluice::bench
