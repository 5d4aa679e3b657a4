#include "reader/reading/block_source.h"

#include <algorithm>

#include "reader/dataset/options_of.h"
#include "reader/reading/direct/direct_blocks.h"
#include "reader/reading/direct/held_block.h"
#include "reader/reading/mapped_blocks.h"
#include "reader/reading/remote_blocks.h"

namespace sluice {

namespace {

// The run with all payloads of a field; empty if the field has none.
ByteRange RunOf(const BlockView& block, const RowLayout& layout, std::size_t field) {
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

std::vector<ByteRange> RangesOf(const BlockView& block, const RowLayout& layout,
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

std::unique_ptr<BlockSource> MakeBlockSource(DatasetState& dataset, const LoaderOptions& options,
                                             const FieldChoice& choice, const PictureCache* kept,
                                             DirectFiles* direct,
                                             const std::atomic<bool>& give_up) {
  if (dataset.table.remote != nullptr) {
    return std::make_unique<RemoteBlocks>(dataset, options, choice, kept,
                                          RemoteBlocks::MaxOpenBytes(dataset, options), give_up);
  }
  if (direct == nullptr) {
    return std::make_unique<MappedBlocks>(dataset, choice, kept, give_up,
                                          BlocksBehind::For(dataset, options));
  }
  const bool one_at_a_time = options.order.shuffle == Shuffle::kSequential;
  return std::make_unique<DirectBlocks>(dataset, choice, kept, *direct, one_at_a_time, give_up);
}

BlockSourceBytes BlockSourceBytes::Of(const DatasetState& dataset, const LoaderOptions& options) {
  if (dataset.facts->shape.blocks() == 0) return {};
  if (dataset.table.remote != nullptr) {
    return {RemoteBlocks::MemoryBytes(dataset, options), 0,
            RemoteBlocks::BookkeepingBytes(dataset, options)};
  }
  if (ReadsDirectly(options)) return {DirectBlocks::MemoryBytes(dataset, options), 0, 0};
  return {0, MappedBlocks::MappedBytes(dataset, options), 0};
}

}  // namespace sluice
