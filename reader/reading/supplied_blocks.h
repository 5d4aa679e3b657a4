// Samples of a source that is played without a conversion (format/disk/sample_supply.h).
//
// This source reads no blocks: the thread that makes a row makes the row's sample first, from the
// sample's own file. So a batch waits for the files of its own rows only, and no file is read
// before it is needed, or twice in an epoch. What is left of reading ahead is to tell the supply
// which blocks the order has announced, so that it can ask an object store for their files.
//
// Used by the planner thread only, except Make().
#pragma once

#include "format/disk/sample_supply.h"
#include "reader/reading/block_source.h"

namespace sluice {

class SuppliedBlocks : public BlockSource {
 public:
  explicit SuppliedBlocks(const Wanted& wanted);
  ~SuppliedBlocks() override { supply_.ForgetExpected(); }

  void Open(std::uint64_t block, std::uint64_t rows) override;
  std::shared_ptr<const HeldBlock> Use(std::uint64_t /*block*/) override { return nullptr; }
  void EndBatch() override {}
  void CloseAll() override {}
  void Cancel() override;
  bool holds_blocks() const noexcept override { return true; }

  // Makes a sample on the calling thread; any thread may call it. `kept`: its decoded picture is
  // kept, so its image may be left out. Throws Error.
  static std::shared_ptr<const HeldBlock> Make(SampleSupply& supply, const SampleRef& ref,
                                               const ShardUse& shard, bool kept,
                                               const std::atomic<bool>* give_up);

 private:
  void AwaitSome() override;
  SampleSupply& supply_;
  const std::uint64_t read_before_;  // bytes that the supply had read when this object was made
};

}  // namespace sluice
