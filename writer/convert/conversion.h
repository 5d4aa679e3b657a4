// Runs a plan: from its planned shards to the finished dataset.
#pragma once

#include <chrono>

#include <sluice/convert_steps.h>

#include "writer/convert/dataset_folder.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"

namespace sluice {

// The part of the summary that is known before any sample is made.
ConvertSummary BeginSummary(const SourceList& sources);

class Conversion {
 public:
  // All arguments must outlive the conversion. `part`: which planned shards to make.
  Conversion(const DatasetFolder& dataset, const ConversionInput& input, const ConvertHooks& hooks,
             const PlanPart& part = {});

  // Finds the part's shards that an earlier run, or another process, has finished, except those
  // whose sources changed since. Throws Error(kExists) if a manifest in the folder names shards of
  // another plan, or if the dataset is finished and its sources changed.
  void Resume(unsigned threads);
  // The part's shards that still have to be made.
  std::vector<std::uint32_t> Missing() const;
  // Adds the part's counts to `summary`. Call it after Run().
  void Summarize(PartSummary& summary) const;
  // Called with each shard that Run() has made; the callback may delete its files.
  std::function<void(const MadeShard&)> on_shard;
  // Makes the shards that Missing() gives, on `threads` threads. `probed`: outcomes of the order's
  // first samples; those with a value need not be made again.
  void Run(unsigned threads, std::vector<std::optional<Outcome>> probed);
  // Writes skipped.tsv, duplicates.tsv if it is wanted, and the manifest; adds the samples'
  // outcomes to `summary`.
  void Finish(ConvertSummary& summary);

 private:
  void Consume(std::uint64_t position, Outcome&& outcome);
  // Moves a made shard's class counts to class_counts_, without the zeros: a shard has a count for
  // each class of the dataset, which would take much memory.
  void KeepClassCounts(MadeShard& made);
  void Report(bool now);
  // Throws Error(kCorrupt) if the origin of this finished shard names a position that the plan does
  // not have.
  void RequireKnown(const Origin& origin, std::uint32_t shard) const;
  // Adds the count, and the names of the first images, to `images`.
  void AddNoted(const NotedPositions& noted, SomeImages& images) const;
  // Removes made shards whose sources changed, so that Run() makes them again. `finished`: whether
  // the dataset is finished; then a changed source is an Error(kExists).
  void RemoveChanged(bool finished, unsigned threads);
  // Throws Error(kCorrupt) for a left-out source if the user wants the conversion to fail.
  void FailOn(std::uint64_t position, const std::string& reason) const;
  void WriteManifest(Manifest manifest) const;
  [[noreturn]] void RefuseChanged() const;

  const DatasetFolder& dataset_;
  const ConversionInput& input_;
  const ConvertHooks& hooks_;
  const PlanPart part_;

  std::vector<std::optional<MadeShard>> made_;  // by planned shard; without class counts
  // By planned shard: the numbers of its classes, and how many samples they have.
  std::vector<std::vector<std::pair<std::size_t, std::uint64_t>>> class_counts_;
  SomeImages changed_;                         // sources that changed since their shards were made
  std::optional<DirectBuffer> direct_;         // if shards bypass the page cache
  std::optional<PlannedShardWriter> writing_;  // the current shard
  ConvertProgress progress_;
  // Counts of images in the shards that this run made. Shards do not record them.
  std::uint64_t shrunk_ = 0, reencoded_ = 0, rounded_ = 0;
  std::uint64_t finished_bytes_ = 0;  // of finished shards
  std::chrono::steady_clock::time_point last_report_{};
};

// A conversion whose samples will join those of another dataset: like Convert(), for samples that
// must have exactly these fields. Throws Error(kInvalidArgument) before anything is written if the
// source has other fields.
ConvertSummary ConvertTo(const Schema& wanted, const ConvertSource& source,
                         const std::filesystem::path& dataset, const ConvertOptions& options,
                         const ConvertHooks& hooks);

}  // namespace sluice
