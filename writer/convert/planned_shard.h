// One planned shard: its samples in order, in one file or, where they turn out too large for one,
// in several parts.
//
// A part ends where the next sample would take it beyond the format's maximum: a rule that looks at
// the shard's samples alone. A planned shard all of whose sources were left out has no file.
#pragma once

#include <filesystem>
#include <optional>

#include "writer/convert/origin.h"
#include "writer/convert/plan.h"
#include "writer/shard_writer.h"

namespace sluice {

// A planned shard as it came to lie on disk.
struct MadeShard {
  std::vector<FinishedShard> parts;
  Origin origin;  // of the last part
};

class PlannedShardWriter {
 public:
  // Everything given outlives the writer; `direct`: as of AtomicFile, or nullptr.
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

// The planned shard as an earlier run has left it, or nullopt if that did not finish it, or what
// lies under its name is damaged. Throws Error(kIo) if a file cannot be read.
std::optional<MadeShard> FindMadeShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard);

// Whether all shards that a manifest names are of this plan. Others were added or put in their
// place since, and lie where the plan's own would be written.
bool IsOfPlan(const Manifest& manifest, const Plan& plan);

}  // namespace sluice
