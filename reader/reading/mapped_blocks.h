// Blocks of mapped shards, read into the page cache and this process's page tables.
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/block_source.h"
#include "reader/reading/blocks_behind.h"
#include "reader/reading/decoded_cache.h"
#include "reader/reading/page_map.h"

namespace sluice {

// Reads only the needed parts of a block if fields are left out, or if the store (which may be
// null) has all of the block's pictures.
class MappedBlocks : public BlockSource {
 public:
  // All references must outlive it. If `behind` is empty, blocks stay mapped after they are played.
  MappedBlocks(DatasetState& dataset, const FieldChoice& choice, const PictureCache* store,
               const std::atomic<bool>& give_up, std::optional<BlocksBehind> behind = {});

  void Open(std::uint64_t block, std::uint64_t rows) override;
  std::shared_ptr<const HeldBlock> Use(std::uint64_t block) override;
  bool UsesRows() const noexcept override { return behind_.has_value(); }
  void EndBatch() override;
  void CloseAll() override;
  void Await(std::uint64_t count) override;
  void Cancel() override;
  bool holds_blocks() const noexcept override { return false; }
  bool MayTakeSuggestions() const noexcept override;
  bool TakesSuggestions() const noexcept override;
  void Suggest(std::uint64_t block) override;

 private:
  // A wanted part of a block. `there`: it is in this process's page tables already, as most parts
  // are that an earlier epoch read, if the dataset fits into memory.
  struct Part {
    Bytes bytes;
    bool there = false;
  };
  struct Reading {
    std::uint64_t block = 0;
    ShardUse shard;  // holds the parts; null: it cannot be opened
    std::vector<Part> parts;
  };
  void Begin();
  ShardUse ShardOf(const SampleRef& first);
  void FinishFront();

  DatasetState& dataset_;
  const FieldChoice& choice_;
  const FieldChoice others_;  // without the image
  const PictureCache* store_;
  const std::atomic<bool>& give_up_;
  std::deque<std::uint64_t> queue_;
  std::deque<Reading> in_flight_;
  PageMap page_map_;
  bool cold_ = false;  // the block begun last was not in memory
  std::optional<BlocksBehind> behind_;
};

}  // namespace sluice
