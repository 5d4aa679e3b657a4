// The parts that all sources share. MakeBlockSource() looks for a store first (with a stage, a
// folder is a store, too), then for a source that is played, then for LoaderOptions::storage.
// BlockSourceBytes::Of() must ask in the same order, because its bound is for the source that is
// made.
//
// Await() measures the wait for each block. If one step finishes several blocks, the first counts
// the whole wait and the others none. RangesOf() is declared next to ByteRange, in
// direct/held_block.h.
#include "reader/reading/block_source.h"

#include <algorithm>
#include <chrono>

#include "format/disk/sample_supply.h"
#include "reader/dataset/options_of.h"
#include "reader/reading/direct/direct_blocks.h"
#include "reader/reading/direct/held_block.h"
#include "reader/reading/mapped_blocks.h"
#include "reader/reading/remote_blocks.h"
#include "reader/reading/supplied_blocks.h"

namespace sluice {

namespace {

// The byte range of all payloads of a field; empty if the field has none.
ByteRange RunOf(const BlockView& block, const RecordLayout& layout, std::size_t field) {
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  for (std::uint32_t row = 0; row < block.count(); ++row) {
    BlockView::Payload payload;
    if (block.GetPayload(layout, row, field, payload) != nullptr || payload.bytes.empty()) continue;
    begin = std::min(begin, payload.entry.offset);
    end = std::max(end, payload.entry.offset + payload.entry.size);
  }
  if (end == 0) return {};
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::vector<ByteRange> RangesOf(const BlockView& block, const RecordLayout& layout,
                                const Schema& schema, const FieldChoice& choice) {
  std::vector<ByteRange> ranges;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (!choice.chosen[f] || schema.fields[f].kind == FieldKind::kArray) continue;
    const ByteRange run = RunOf(block, layout, f);
    if (run.bytes == 0) continue;
    if (!ranges.empty()) {
      ByteRange& last = ranges.back();
      const std::size_t end = last.offset + last.bytes;
      if (run.offset >= end && run.offset - end < kPayloadAlignment) {
        last.bytes = run.offset + run.bytes - last.offset;
        continue;
      }
    }
    ranges.push_back(run);
  }
  return ranges;
}

void BlockSource::Await(std::uint64_t count) {
  using Clock = std::chrono::steady_clock;
  if (finished_ >= count) return;
  Clock::time_point begun = Clock::now();
  while (finished_ < count && !GivesUp()) {
    const std::uint64_t before = finished_;
    AwaitSome();
    if (finished_ == before) continue;
    const Clock::time_point now = Clock::now();
    reads_.Add(std::chrono::duration<double>(now - begun).count());
    reads_.Add(0, finished_ - before - 1);  // nothing more to wait for: these had been read by then
    begun = now;
  }
}

std::unique_ptr<BlockSource> MakeBlockSource(const BlockSource::Wanted& wanted,
                                             const LoaderOptions& options, DirectFiles* direct) {
  if (wanted.dataset.table.remote != nullptr)
    return std::make_unique<RemoteBlocks>(wanted, options);
  if (wanted.dataset.facts->supply != nullptr) return std::make_unique<SuppliedBlocks>(wanted);
  if (direct == nullptr) return std::make_unique<MappedBlocks>(wanted);
  return std::make_unique<DirectBlocks>(wanted, options, *direct);
}

BlockSourceBytes BlockSourceBytes::Of(const DatasetState& dataset, const LoaderOptions& options) {
  if (dataset.facts->shape.blocks() == 0) return {};
  if (dataset.table.remote != nullptr) {
    return {RemoteBlocks::MemoryBytes(dataset, options), 0,
            RemoteBlocks::BookkeepingBytes(dataset, options)};
  }
  if (const auto& supply = dataset.facts->supply)
    return {SlotFillersOf(options) * supply->MakingBytes(), 0, 0};
  if (ReadsDirectly(options)) return {DirectBlocks::MemoryBytes(dataset, options), 0, 0};
  return {0, dataset.facts->shape.bytes(), 0};
}

}  // namespace sluice
