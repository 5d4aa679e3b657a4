#include "reader/reading/supplied_blocks.h"

namespace sluice {

SuppliedBlocks::SuppliedBlocks(const Wanted& wanted)
    : BlockSource(wanted), supply_(*dataset_.facts->supply), read_before_(supply_.work().bytes) {}

void SuppliedBlocks::Open(std::uint64_t block, std::uint64_t /*rows*/) {
  begun_ = ++opened_;
  const SampleRef first = dataset_.facts->shape.Record(block, 0);
  supply_.Expect(first.shard, first.block);
}

void SuppliedBlocks::AwaitSome() {
  finished_ = opened_;
  bytes_read_ = supply_.work().bytes - read_before_;
}

void SuppliedBlocks::Cancel() {
  supply_.ForgetExpected();
  finished_ = opened_;
}

std::shared_ptr<const HeldBlock> SuppliedBlocks::Make(SampleSupply& supply, const SampleRef& ref,
                                                      const ShardUse& shard, bool kept,
                                                      const std::atomic<bool>* give_up) {
  auto held = std::make_shared<HeldBlock>();
  const std::uint64_t sample = std::uint64_t{ref.block} * shard->block_samples() + ref.record;
  std::optional<std::vector<std::byte>> made;
  if (kept) made = supply.MakeWithoutImage(ref.shard, sample);
  if (made) held->LeaveOutImage();
  if (!made) made = supply.Make(ref.shard, sample, give_up);
  held->Give(*std::move(made), ref.record, shard);
  return held;
}

}  // namespace sluice
