// Blocks of a dataset that is read from a store, fetched ahead
// (format/remote/cache/remote_shards.h).
//
// The frame of a shard (its header, directory and tail) comes before the shard's blocks. Enough
// bytes are requested at once to keep the link busy, as the store has measured it. The order
// announces all blocks of a lane's window at once, and to fetch them only then would stop the
// trainer. So blocks of the next windows are fetched while the trainer plays.
//
// A block is fetched whole, or without its payloads if no chosen field has any, or if all of its
// pictures are kept decoded. (A field's payloads lie together, so ranges of some fields could be
// fetched, too; but rows, keys and small fields are a few percent of a block.)
//
// Used by the planner thread only, except Fetch().
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/decoded_picture_cache.h"
#include "reader/reading/next_uses.h"
#include "reader/reading/requested_blocks.h"

namespace sluice {

// The most bytes that a loader has in flight, and also the most that it fetches for the next
// windows, unless Mapped::read_ahead_bytes says otherwise.
inline constexpr std::uint64_t kMaxRemoteAhead = std::uint64_t{128} << 20;

struct RemoteRequest : BlockRequest {
  std::uint64_t urgency = 0;            // the smaller, the more urgent
  std::vector<ShardParts::Held> frame;  // of the block's shard, if the shard is not open
  ShardUse shard;
  ShardParts::Held piece;
};

class RemoteBlocks : public RequestedBlocks<RemoteRequest> {
 public:
  // `options` must have been checked.
  RemoteBlocks(const Wanted& wanted, const LoaderOptions& options);

  // The most bytes of blocks that an epoch has open at once; beyond that, the least recently used
  // block is closed.
  static std::uint64_t MaxOpenBytes(const DatasetFacts& dataset, const LoaderOptions& options);
  // The most bytes that a loader holds: open blocks, blocks that rows in the ring still need,
  // blocks on their way, and idle pieces (blocks and parts of frames) that stay in memory.
  static std::uint64_t MemoryBytes(const DatasetState& dataset, const LoaderOptions& options);
  // Bytes of the connections' buffers, of the table of pieces and, with a cache, of the next uses.
  static std::uint64_t BookkeepingBytes(const DatasetState& dataset, const LoaderOptions& options);

  void BeginEpoch(std::uint64_t epoch) override;
  void Open(std::uint64_t block, std::uint64_t rows) override;
  void EndBatch() override;
  void Cancel() override;
  void SetDepth(std::uint64_t bytes) noexcept override;
  bool MayTakeSuggestions() const noexcept override { return true; }
  bool TakesSuggestions() const noexcept override;
  void Suggest(std::uint64_t block) override;

  // Fetches a block on the calling thread; any thread may call it. Throws Error.
  static std::shared_ptr<const HeldBlock> Fetch(DatasetState& dataset, std::uint32_t number,
                                                const ShardUse& shard, std::uint32_t block);

 private:
  RemoteRequest RequestFor(std::uint64_t block) override;
  bool Start(RemoteRequest& request) override;
  bool Finish(RemoteRequest& request) override;
  void Begin() override;
  // A block whose request has begun before its next use was known.
  struct Unscheduled {
    std::uint64_t block = 0;
    std::uint32_t shard = 0;
    ShardParts::Block parts;
  };
  // Returns whether the next uses are known, or not needed. When they become known, tells the cache
  // those of unscheduled_.
  bool KnowsNextUses();
  void AwaitNextUses(const RemoteRequest& request);
  // Whether to fetch the whole block, not only its table. Sets `without_image` to whether the
  // block's pictures need not be fetched.
  bool TakesWhole(std::uint64_t block, bool& without_image) const noexcept;
  ShardParts::Held BeginPiece(std::uint64_t block, const SampleRef& first,
                              const ShardParts::Block& parts, bool whole, std::uint64_t urgency);
  void MakeRoom();
  std::vector<ShardParts::Held> FrameOf(std::uint32_t shard);
  std::uint64_t NextUseOf(std::uint64_t block) const;

  RemoteShards& remote_;
  const bool needs_payloads_;  // whether a chosen field has payloads
  const bool needs_others_;    // the same for a block whose pictures are all kept decoded
  const std::uint64_t most_open_;
  const std::uint64_t most_ahead_;
  // A block of the next windows, requested early.
  struct Suggested {
    ShardParts::Held piece;
    std::uint64_t bytes = 0;
  };
  std::unordered_map<std::uint64_t, Suggested> suggested_;
  std::uint64_t suggested_bytes_ = 0;
  // With a cache: the times at which the next epoch needs each block.
  std::optional<NextUsesAhead> next_uses_;
  NextUsesAhead::Uses uses_;  // null: not known yet
  std::vector<Unscheduled> unscheduled_;
  std::uint64_t first_batch_ = 0;  // the value of opened_ after the epoch's first batch
};

}  // namespace sluice
