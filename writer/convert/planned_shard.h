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

// The id in a shard file's header.
Id128 ShardIdOf(const Plan& plan, std::uint32_t shard, std::uint32_t part) noexcept;

class PlannedShardWriter {
 public:
  // All arguments must outlive the writer. `direct` and `own`: as for AtomicFile.
  PlannedShardWriter(const Plan& plan, const Schema& schema, const std::filesystem::path& folder,
                     std::uint32_t shard, DirectBuffer* direct, const std::string& own);

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
  const std::string& own_;
  MadeShard made_;
  std::uint64_t finished_bytes_ = 0;
  std::optional<ShardWriter> part_;
};

// The planned shard that an earlier run made. nullopt if the run did not finish it, or the file
// with its name is damaged. Throws Error(kIo) if a file cannot be read.
std::optional<MadeShard> FindMadeShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard);

// The same, or a planned shard all of whose sources were left out, if LeaveEmptyShard() has said
// so.
std::optional<MadeShard> FindDoneShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard);

// Whether a file has the name of this planned shard, whatever it holds.
bool IsShardNamed(const std::filesystem::path& folder, std::uint32_t shard);

// For others that work on the same plan: notes that this shard is done and has no file.
void LeaveEmptyShard(const std::filesystem::path& folder, const Plan& plan, const MadeShard& made,
                     const std::string& own);
bool IsEmptyShardName(const std::string& name);

// The parts of the name of a shard's file, or of the note that the shard has no file.
struct PlannedName {
  std::uint64_t shard = 0;
  std::uint64_t part = 0;
  bool empty = false;
};
std::optional<PlannedName> ParseShardName(const std::string& name);

// Whether all shards that a manifest names are of this plan. Other shards were added or exchanged
// since, and have the names that the plan's own would get.
bool IsOfPlan(const Manifest& manifest, const Plan& plan);

}  // namespace sluice
