// The blocks behind the window: which they are, and letting go of them as Mapped::behind
// says.
//
// A block is open from when the order announces it until as many rows of it have been planned as
// the epoch has. Batches planned before the last one may still be decoded then; but when a batch is
// planned, the one that lies a whole ring before it has been delivered, since it had a slot. So a
// block is let go a ring of batches after its last row was planned. Should a thread touch it once
// more nevertheless (a substitute), it is read again.
//
// Used by the planning thread alone.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"

namespace sluice {

class BlocksBehind {
 public:
  // Empty if blocks are kept (Behind::kKeep), and in Shuffle::kRandom, where none is ever behind.
  // `dataset` must outlive it. `options` are checked ones.
  static std::optional<BlocksBehind> For(DatasetState& dataset, const LoaderOptions& options);

  // A block, by number in the dataset, has been announced; `rows` of it come in this epoch, 0 for
  // unknown.
  void Open(std::uint64_t block, std::uint64_t rows);
  // A block that will be announced later on, and is being read already.
  void Expect(std::uint64_t block);
  // A row of it has been planned.
  void Use(std::uint64_t block);
  // The batch is planned: lets go of the blocks whose time has come.
  void EndBatch();
  // No open block is needed by a batch that is yet to be planned.
  void CloseAll();
  // The shard is about to be read from.
  void PrepareShard(std::uint32_t shard, const ShardFile& file);
  // The block has been read and mapped, and others along with it: those that nobody needs go again.
  void Trim(std::uint64_t block) const;

 private:
  BlocksBehind(DatasetState& dataset, const LoaderOptions& options);
  void LetGo(std::uint64_t block) const;
  bool Needed(std::uint64_t block) const;
  // What lies around a block, of its shard, up to the nearest one that is needed or, on request,
  // expected.
  struct Around {
    ShardUse shard;  // null: it is not mapped
    std::uint64_t begin = 0;
    std::uint64_t block_begin = 0;
    std::uint64_t block_end = 0;
    std::uint64_t end = 0;
  };
  Around AroundOf(std::uint64_t block, bool up_to_expected) const;

  DatasetState& dataset_;
  const Behind behind_;
  const bool one_at_a_time_;  // Shuffle::kSequential
  const std::size_t ring_;
  // By shard: what it is read from; for as long as that stays mapped.
  std::vector<const ShardFile*> prepared_;
  std::unordered_map<std::uint64_t, std::uint64_t> open_;  // block -> rows still to come
  std::unordered_set<std::uint64_t> expected_;             // in the page cache; Behind::kDrop
  // Closed by the batch in hand, and by those before it, oldest first; and in how many of these a
  // block is.
  std::vector<std::uint64_t> closed_;
  std::deque<std::vector<std::uint64_t>> waiting_;
  std::unordered_map<std::uint64_t, unsigned> waits_;
};

}  // namespace sluice
