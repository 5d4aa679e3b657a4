// One planned shard: its samples in order, in one file or, where they turn out too large for one,
// in several parts; the record of how it was made (Origin); and the receipt of a shard that lies in
// an object store.
//
// A part ends if the next sample would take it beyond the format's maximum: a rule that depends
// only on the shard's samples. A planned shard has no file if all of its sources were left out.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/disk/bytes.h"
#include "format/disk/shard.h"
#include "writer/convert/plan.h"
#include "writer/convert/sample_encoder.h"
#include "writer/shard_writer.h"

namespace sluice {

// Positions of the plan's order that have some property: how many there are, and the first of them.
struct NotedPositions {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> first;  // at most SomeImages::kExamples

  void Add(std::uint64_t position);
};

// A shard's record of how it was made (section "origin"): enough to continue after an interruption
// without making the shard again.
struct Origin {
  std::uint32_t shard = 0;  // number of the planned shard
  std::uint32_t part = 0;
  // Whether this is the planned shard's last part; only its origin has the members below.
  bool last = false;
  // Positions of the plan's order that gave no sample of the planned shard, and why.
  std::vector<std::pair<std::uint64_t, std::string>> left_out;
  // Positions of samples that were taken although their files end early, and how they end.
  std::vector<std::pair<std::uint64_t, std::string>> truncated;
  std::uint64_t kept = 0;      // samples whose coefficients were kept
  std::uint64_t bytes_in = 0;  // of the sources that became samples
  std::uint64_t boxes_dropped = 0;
  std::uint64_t profiles_dropped = 0;
  std::uint64_t profiles_converted = 0;
  std::uint64_t channels_dropped = 0;
  std::uint64_t smaller = 0;   // samples smaller than the target
  NotedPositions turned = {};  // as ConvertSummary::turned
  NotedPositions dim = {};     // as ConvertSummary::dim
};

std::string OriginToJson(const Origin& origin);

// nullopt if the text lacks a member that OriginToJson() writes, or a member is invalid.
std::optional<Origin> OriginFromJson(std::string_view text);

// The most bytes that an origin of this many planned samples takes; a shard must keep them free.
constexpr std::uint64_t OriginBound(std::uint64_t planned_samples) noexcept {
  return 384 + planned_samples * (kMaxReasonBytes + 32);
}

// A planned shard as it is on disk.
struct MadeShard {
  std::vector<FinishedShard> parts;
  Origin origin;  // of the last part
};

// The id in a shard file's header.
Id128 ShardIdOf(const Plan& plan, std::uint32_t shard, std::uint32_t part) noexcept;

// Writes a planned shard's samples into as many files as they need, each with its origin.
class PlannedShardWriter {
 public:
  // All arguments must outlive the writer. `direct` and `own`: as for AtomicFile.
  PlannedShardWriter(const Plan& plan, const Schema& schema, const std::filesystem::path& folder,
                     std::uint32_t shard, DirectBuffer* direct, const std::string& own);

  // Adds a sample; `outcome` must have no reason for being left out.
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

// A planned shard's files, mapped, and its record: to read samples by their positions in the plan's
// order.
struct MadeFiles {
  std::vector<std::unique_ptr<const ShardFile>> parts;
  Origin origin;  // of the last part

  // Why the position was left out; null if it is a sample.
  const std::string* LeftOut(std::uint64_t position) const;
  // Whether its file ends early, and yet gave a sample.
  bool IsTruncated(std::uint64_t position) const;
  // Where the sample of a position lies, in a shard whose first position is `first`. The part is
  // null if the position was left out, or if there are fewer samples than the record says.
  struct Place {
    const ShardFile* part = nullptr;
    std::uint64_t index = 0;  // in that file
  };
  Place Find(std::uint64_t first, std::uint64_t position) const;
};

// Opens the planned shard that an earlier run made. nullopt as for FindMadeShard(); does not look
// into blocks.
std::optional<MadeFiles> OpenMadeShard(const Plan& plan,
                                       const std::shared_ptr<const ShardSchema>& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard);

// The planned shard that an earlier run made. nullopt if the run did not finish it, or the file
// with its name is damaged. Throws Error(kIo) if a file cannot be read.
std::optional<MadeShard> FindMadeShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard);

// Like FindMadeShard(). Also finds a planned shard by its receipt, and a planned shard without
// files by the note that LeaveEmptyShard() wrote.
std::optional<MadeShard> FindDoneShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard);

// Whether there is a file with the name of this planned shard, or of the note in its place
// (LeaveEmptyShard), whatever the file holds.
bool IsShardNamed(const std::filesystem::path& folder, std::uint32_t shard);

// Writes a note that this shard is done and has no file, for other processes that work on the same
// plan.
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

// Whether all shards that a manifest names are of this plan. If not, shards were added or replaced
// since, maybe under names that the plan's own shards would get.
bool IsOfPlan(const Manifest& manifest, const Plan& plan);

// "shard-00012.made.json"
std::string ReceiptName(std::uint32_t shard);
std::string ReceiptText(const Plan& plan, const Schema& schema, const MadeShard& made);

// nullopt if the text is not a valid receipt of this shard of the plan. The receipt's statements
// about the shard's files are checked against the receipt's own checksums, not against the files.
std::optional<MadeShard> MadeByReceipt(std::string_view text, const Plan& plan,
                                       const Schema& schema, std::uint32_t shard);

// The most bytes that a receipt has.
inline constexpr std::uint64_t kMaxReceiptBytes = 2 * OriginBound(kMaxPlannedSamples) + (64 << 20);

}  // namespace sluice
