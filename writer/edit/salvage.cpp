#include "writer/edit/salvage.h"

#include <algorithm>
#include <cstddef>

#include "format/disk/checksum.h"
#include "format/disk/keys.h"
#include "format/disk/limits.h"
#include "writer/edit/stored_dataset.h"

namespace sluice {

namespace {

struct FoundBlock {
  std::uint64_t offset = 0;
  BlockHeader header;
  Bytes bytes;
  bool whole_table = false;
};

// The block that begins there and that the file ends inside of, with zeros for what is missing;
// empty if there is none.
std::vector<std::byte> CutBlock(Bytes rest) {
  if (rest.size() < sizeof(BlockHeader)) return {};
  const auto header = LoadAt<BlockHeader>(rest, 0);
  const std::uint64_t checksum = Hash64(rest.first(offsetof(BlockHeader, header_checksum)));
  if (header.magic != BlockHeader::kMagic || header.header_checksum != checksum ||
      header.bytes <= rest.size() || header.bytes > kMaxShardBytes) {
    return {};
  }
  std::vector<std::byte> block(rest.begin(), rest.end());
  block.resize(header.bytes);
  return block;
}

// The blocks of the shard that most blocks belong to, in their order. `cut` becomes the memory of
// the last one, where the file ends inside of it.
std::vector<FoundBlock> FindBlocks(Bytes file, const RowLayout& layout,
                                   std::vector<std::byte>& cut) {
  std::vector<FoundBlock> blocks;
  for (std::uint64_t at = 0; at < file.size(); at += kPageBytes) {
    FoundBlock found;
    found.offset = at;
    Bytes rest = file.subspan(at);
    std::vector<std::byte> padded = CutBlock(rest);
    if (!padded.empty()) rest = padded;
    if (BlockView::ParseHeader(rest, found.header) != nullptr) continue;
    const BlockHeader& header = found.header;
    if (header.row_bytes != layout.row_bytes() || header.bytes > rest.size() ||
        header.bytes < sizeof(BlockHeader) + std::uint64_t{header.count} * header.row_bytes ||
        header.count == 0 || header.count > kMaxBlockSamples) {
      continue;
    }
    if (!blocks.empty() && (header.shard_id != blocks[0].header.shard_id ||
                            header.number <= blocks.back().header.number)) {
      continue;
    }
    found.bytes = rest.first(header.bytes);
    found.whole_table = BlockView(rest, header).VerifyTable() == nullptr;
    if (!padded.empty()) cut = std::move(padded);  // which stays where it is
    blocks.push_back(found);
    // A block may hold what looks like one; one whose table is damaged is still as long as it says.
    at += AlignUp(header.bytes, kPageBytes) - kPageBytes;
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

// The section of keys, which begins where the last block ends and says how long it is; empty if
// what lies there is none.
Bytes KeysAt(Bytes file, std::uint64_t offset) {
  constexpr std::uint64_t kFrame = 8;  // bytes that say a frame's and its content's size
  if (offset + kFrame > file.size()) return {};
  const Bytes rest = file.subspan(offset);
  const std::uint64_t chunks = LoadAt<std::uint32_t>(rest, 4);
  std::uint64_t size = kFrame + chunks * kFrame;
  if (chunks == 0 || size > rest.size()) return {};
  for (std::uint64_t c = 0; c < chunks; ++c)
    size += LoadAt<std::uint32_t>(rest, kFrame + c * kFrame);
  return size <= rest.size() ? rest.first(size) : Bytes();
}

}  // namespace

Salvage SalvageShard(Bytes file, const std::string& name, const Schema& schema,
                     std::optional<std::uint64_t> planned,
                     const std::function<void(const Salvage&, EncodedSample&&)>& take,
                     std::vector<LostSample>& lost) {
  const RowLayout layout(schema);
  std::vector<std::byte> cut;
  const std::vector<FoundBlock> blocks = FindBlocks(file, layout, cut);
  Salvage salvage;
  if (blocks.empty()) {
    lost.push_back({name, -1, {}, "no block can be found in it"});
    return salvage;
  }
  salvage.id = blocks[0].header.shard_id;
  salvage.block_samples = BlockSamplesOf(blocks);
  const FoundBlock& last = blocks.back();
  const std::uint64_t samples = planned.value_or(last.header.first_sample + last.header.count);
  const Bytes keys = KeysAt(file, last.offset + last.header.bytes);
  const auto key_of = [&](std::uint64_t number) {
    std::string key;
    return ReadKey(keys, samples, number, key) == nullptr ? key : std::string();
  };
  std::uint64_t next = 0;  // the sample that should come next
  const auto lose_until = [&](std::uint64_t end, const char* why) {
    for (; next < end; ++next)
      lost.push_back({name, static_cast<std::int64_t>(next), key_of(next), why});
  };
  for (const FoundBlock& block : blocks) {
    lose_until(std::min(block.header.first_sample, samples), "its block is damaged");
    if (!block.whole_table) {
      lose_until(std::min(next + block.header.count, samples), "the table of its block is damaged");
      continue;
    }
    const BlockView view(block.bytes, block.header);
    for (std::uint32_t row = 0; row < view.count(); ++row, ++next) {
      EncodedSample sample;
      sample.key = key_of(next);
      if (const Defect defect = CopyRow(schema, layout, view, row, sample)) {
        lost.push_back({name, static_cast<std::int64_t>(next), sample.key, defect});
        continue;
      }
      if (sample.key.empty()) sample.key = name + "#" + std::to_string(next);
      ++salvage.taken;
      take(salvage, std::move(sample));
    }
  }
  lose_until(samples, "its block is damaged");
  return salvage;
}

}  // namespace sluice
