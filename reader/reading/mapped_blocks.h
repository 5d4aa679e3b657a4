// Blocks of mapped shards, read ahead into the page cache and this process's page tables.
#pragma once

#include <deque>
#include <vector>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/block_source.h"
#include "reader/reading/decoded_picture_cache.h"
#include "reader/reading/page_map.h"

namespace sluice {

// Reads blocks of mapped shards into the page cache and this process's page tables. If fields are
// left out, or all pictures of a block are kept, reads only the needed parts of the block.
class MappedBlocks : public BlockSource {
 public:
  explicit MappedBlocks(const Wanted& wanted) : BlockSource(wanted) {}

  void Open(std::uint64_t block, std::uint64_t rows) override;
  std::shared_ptr<const HeldBlock> Use(std::uint64_t /*block*/) override { return nullptr; }
  void EndBatch() override { Begin(); }
  void CloseAll() override {}
  void Cancel() override;
  bool holds_blocks() const noexcept override { return false; }
  bool MayTakeSuggestions() const noexcept override;
  bool TakesSuggestions() const noexcept override;
  void Suggest(std::uint64_t block) override;

 private:
  void AwaitSome() override;
  // A wanted part of a block. `there` says whether the part was in this process's page tables
  // already. If the dataset fits into memory, most parts that an earlier epoch has read are there.
  struct Part {
    Bytes bytes;
    bool there = false;
  };
  struct Reading {
    std::uint64_t block = 0;
    ShardUse shard;  // keeps the parts mapped; null: the shard cannot be opened
    std::vector<Part> parts;
  };
  void Begin();
  ShardUse ShardOf(const SampleRef& first);
  void FinishFront();

  std::deque<std::uint64_t> queue_;
  std::deque<Reading> in_flight_;
  PageMap page_map_;
  bool cold_ = false;  // whether the part begun last was not in this process's page tables
};

}  // namespace sluice
