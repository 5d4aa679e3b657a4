// Runs a plan: from its planned shards to the finished dataset.
#pragma once

#include <chrono>

#include <sluice/convert.h>

#include "writer/convert/dataset_folder.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"

namespace sluice {

class Conversion {
 public:
  // All arguments must outlive the conversion. `order`: position in the dataset -> index of the
  // source.
  Conversion(const DatasetFolder& dataset, const SourceList& sources, const Schema& schema,
             const Plan& plan, const std::vector<std::uint32_t>& order,
             const ConvertOptions& options, const ConvertHooks& hooks);

  // Finds the planned shards that an earlier run has finished. Throws Error(kExists) if the dataset
  // holds other shards by now.
  void Resume();
  // Makes the other shards, on `threads` threads. `probed`: the outcomes of some of the order's
  // first samples, which need not be made again.
  void Run(unsigned threads, std::vector<std::optional<Outcome>> probed);
  // Writes skipped.tsv and the manifest; adds the samples' outcomes to `summary`.
  void Finish(ConvertSummary& summary);

 private:
  void Consume(std::uint64_t position, Outcome&& outcome);
  void Report(bool now);
  // Throws Error(kCorrupt) if that finished shard gives a reason for a source the plan does not
  // have.
  void RequireKnown(const std::vector<std::pair<std::uint64_t, std::string>>& reasons,
                    std::uint32_t shard) const;
  void FailOn(std::uint64_t position, const std::string& reason) const;
  void WriteManifest(const Manifest& manifest) const;
  // nullopt if there is no readable manifest.
  std::optional<Manifest> FindManifest(Id128& id) const;
  [[noreturn]] void RefuseChanged() const;

  const DatasetFolder& dataset_;
  const SourceList& sources_;
  const Schema& schema_;
  const Plan& plan_;
  const std::vector<std::uint32_t>& order_;
  const ConvertOptions& options_;
  const ConvertHooks& hooks_;

  std::vector<std::optional<MadeShard>> made_;  // by planned shard
  std::optional<DirectBuffer> direct_;          // if shards bypass the page cache
  std::optional<PlannedShardWriter> writing_;   // the current shard
  ConvertProgress progress_;
  std::uint64_t finished_bytes_ = 0;  // of finished shards
  std::chrono::steady_clock::time_point last_report_{};
};

}  // namespace sluice
