#include "writer/edit/salvage.h"

#include <algorithm>

#include "format/disk/block.h"
#include "format/disk/limits.h"
#include "writer/edit/salvaged_keys.h"
#include "writer/edit/stored_dataset.h"

namespace sluice {

namespace {

struct FoundBlock {
  std::uint64_t offset = 0;
  BlockHeader header;
  Bytes bytes;  // less than the header says if the file ends earlier
  bool whole_table = false;
};

// Whether bytes that look like a block's header can belong to this dataset, after `last` in its
// shard.
bool CanFollow(const BlockHeader& header, const RowLayout& layout, const FoundBlock* last) {
  // No block is empty, and none has more than kMaxBlockSamples.
  const std::uint64_t most = std::uint64_t{header.number} * kMaxBlockSamples;
  if (header.row_bytes != layout.row_bytes() || header.first_sample < header.number ||
      header.first_sample > most) {
    return false;
  }
  return last == nullptr ||
         (header.shard_id == last->header.shard_id && header.number > last->header.number &&
          header.first_sample >= last->header.first_sample + last->header.count);
}

// Finds the blocks of the shard that the first one belongs to, in order; the file may end inside
// the last one.
std::vector<FoundBlock> FindBlocks(Bytes file, const RowLayout& layout) {
  std::vector<FoundBlock> blocks;
  for (std::uint64_t at = 0; at < file.size(); at += kPageBytes) {
    FoundBlock found;
    found.offset = at;
    const Bytes rest = file.subspan(at);
    if (ParseCutHeader(rest, found.header) != nullptr ||
        !CanFollow(found.header, layout, blocks.empty() ? nullptr : &blocks.back())) {
      continue;
    }
    const std::uint64_t bytes = found.header.bytes;
    const std::uint64_t table = std::uint64_t{found.header.count} * found.header.row_bytes;
    found.bytes = rest.first(std::min<std::uint64_t>(bytes, rest.size()));
    found.header.bytes = found.bytes.size();
    found.whole_table = Inside(sizeof(BlockHeader), table, found.bytes.size()) &&
                        BlockView(found.bytes, found.header).VerifyTable() == nullptr;
    blocks.push_back(found);
    // Skips the block: its payloads may contain bytes that look like a block. Its header gives its
    // length even if its table is damaged.
    at += AlignUp(bytes, kPageBytes) - kPageBytes;
  }
  return blocks;
}

std::uint32_t BlockSamplesOf(const std::vector<FoundBlock>& blocks) {
  for (const FoundBlock& block : blocks) {
    if (block.header.number > 0) {
      return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
          block.header.first_sample / block.header.number, 1, kMaxBlockSamples));
    }
  }
  return blocks.empty() ? 1 : blocks[0].header.count;
}

// The section of keys, which begins at the end of the last block and has its own length; empty if
// there is none.
Bytes KeysAt(Bytes file, std::uint64_t offset) {
  constexpr std::uint64_t kFrame = 8;  // bytes for the sizes of a frame and its content
  if (offset + kFrame > file.size()) return {};
  const Bytes rest = file.subspan(offset);
  const std::uint64_t chunks = LoadAt<std::uint32_t>(rest, 4);
  std::uint64_t size = kFrame + chunks * kFrame;
  if (chunks == 0 || size > rest.size()) return {};
  for (std::uint64_t c = 0; c < chunks; ++c)
    size += LoadAt<std::uint32_t>(rest, kFrame + c * kFrame);
  return size <= rest.size() ? rest.first(size) : Bytes();
}

std::uint64_t PayloadBytesOf(const EncodedSample& sample) noexcept {
  std::uint64_t bytes = 0;
  for (const FieldValue& value : sample.fields)
    if (value.codec != Codec::kAbsent) bytes += value.bytes.size();
  return bytes;
}

}  // namespace

Salvage SalvageShard(const MappedFile& mapped, const std::string& name, const Schema& schema,
                     std::optional<std::uint64_t> planned,
                     const std::function<void(const Salvage&, EncodedSample&&)>& take,
                     std::vector<LostSample>& lost) {
  const ReadGuard guard = mapped.Guard();
  const Bytes file =
      mapped.bytes().first(std::min<std::uint64_t>(mapped.bytes().size(), kMaxShardBytes));
  const RowLayout layout(schema);
  const std::vector<FoundBlock> blocks = FindBlocks(file, layout);
  Salvage salvage;
  if (blocks.empty()) {
    lost.push_back({name, -1, planned.value_or(0), {}, "no block can be found in it"});
    return salvage;
  }
  salvage.id = blocks[0].header.shard_id;
  salvage.block_samples = BlockSamplesOf(blocks);
  const FoundBlock& last = blocks.back();
  const std::uint64_t samples = planned.value_or(last.header.first_sample + last.header.count);
  SalvagedKeys keys(KeysAt(file, last.offset + last.header.bytes), samples);
  LossList losses(name, file.size(), keys, lost);
  std::uint64_t next = 0;  // the sample that should come next
  for (const FoundBlock& block : blocks) {
    losses.Add(next, std::min(block.header.first_sample, samples), "its block is damaged");
    next = block.header.first_sample;
    const std::uint64_t end = next + block.header.count;
    if (!block.whole_table) {
      losses.Add(next, std::min(end, samples), "the table of its block is damaged");
      next = end;
      continue;
    }
    const BlockView view(block.bytes, block.header);
    std::uint64_t payload_bytes = 0;  // in a whole block they do not overlap
    for (std::uint32_t row = 0; row < view.count(); ++row, ++next) {
      EncodedSample sample;
      Defect defect = CopyRow(schema, layout, view, row, sample);
      payload_bytes += PayloadBytesOf(sample);
      if (payload_bytes > block.bytes.size()) break;
      if (mapped.Lost(block.bytes)) defect = "its block cannot be read";
      if (defect != nullptr) {
        losses.Add(next, next + 1, defect);
        continue;
      }
      sample.key = keys.Of(next);
      if (sample.key.empty()) sample.key = name + "#" + std::to_string(next);
      ++salvage.taken;
      take(salvage, std::move(sample));
    }
    losses.Add(next, end, "the payloads of its block overlap");
    next = end;
  }
  losses.Add(next, samples, "its block is damaged");
  return salvage;
}

}  // namespace sluice
