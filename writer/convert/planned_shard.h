// One planned shard: its samples in order, in one file or, where they turn out too large for one,
// in several parts.
//
// A part ends if the next sample would take it beyond the format's maximum: a rule that depends
// only on the shard's samples. A planned shard has no file if all of its sources were left out.
#pragma once

#include <filesystem>
#include <optional>

#include "writer/convert/origin.h"
#include "writer/convert/plan.h"
#include "writer/shard_writer.h"

namespace sluice {

// A planned shard as it is on disk.
struct MadeShard {
  std::vector<FinishedShard> parts;
  Origin origin;  // of the last part
};

class PlannedShardWriter {
 public:
  // All arguments must outlive the writer. `direct`: as for AtomicFile, or nullptr.
  PlannedShardWriter(const Plan& plan, const Schema& schema, const std::filesystem::path& folder,
                     std::uint32_t shard, DirectBuffer* direct);

  // An outcome without a reason.
  void Add(std::uint64_t position, Outcome outcome, std::uint64_t source_bytes);
  void LeaveOut(std::uint64_t position, std::string reason);
  // Bytes written so far.
  std::uint64_t bytes() const noexcept;
  MadeShard Finish();

 private:
  void BeginPart();

  const Plan& plan_;
  const Schema& schema_;
  const std::filesystem::path& folder_;
  DirectBuffer* direct_;
  MadeShard made_;
  std::uint64_t finished_bytes_ = 0;
  std::optional<ShardWriter> part_;
};

// The planned shard that an earlier run made. nullopt if the run did not finish it, or the file
// with its name is damaged. Throws Error(kIo) if a file cannot be read.
std::optional<MadeShard> FindMadeShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard);

// Whether all shards that a manifest names are of this plan. Other shards were added or exchanged
// since, and have the names that the plan's own would get.
bool IsOfPlan(const Manifest& manifest, const Plan& plan);

}  // namespace sluice
