#include "tests/fuzz/reseal.h"

#include <algorithm>

#include "format/disk/block.h"
#include "format/disk/checksum.h"
#include "format/disk/shard.h"

namespace sluice::fuzz {

namespace {

// The checksum of the first 56 bytes of a structure into its last 8.
void ResealHead(std::span<std::byte> head) {
  StoreAt<std::uint64_t>(head, 56, Hash64(Bytes(head).first(56)));
}

void ResealHeader(std::span<std::byte> file) {
  auto header = LoadAt<ShardHeader>(file, 0);
  if (Inside(sizeof(header), header.schema_bytes, file.size())) {
    header.schema_checksum = Hash64(Bytes(file).subspan(sizeof(header), header.schema_bytes));
  }
  StoreAt<ShardHeader>(file, 0, header);
  ResealHead(file.first(sizeof(header)));
}

// Returns the block header's checksum.
std::uint64_t ResealBlock(std::span<std::byte> block) {
  auto header = LoadAt<BlockHeader>(block, 0);
  const std::uint64_t table_bytes = std::uint64_t{header.count} * header.row_bytes;
  if (Inside(sizeof(header), table_bytes, block.size())) {
    header.table_checksum = Hash64(Bytes(block).subspan(sizeof(header), table_bytes));
  }
  StoreAt<BlockHeader>(block, 0, header);
  ResealHead(block.first(sizeof(header)));
  return LoadAt<BlockHeader>(block, 0).header_checksum;
}

void ResealDirectory(std::span<std::byte> file, std::span<std::byte> directory) {
  if (directory.size() < sizeof(DirectoryHeader)) return;
  auto header = LoadAt<DirectoryHeader>(directory, 0);
  header.header_checksum = LoadAt<ShardHeader>(file, 0).header_checksum;
  StoreAt<DirectoryHeader>(directory, 0, header);
  std::uint64_t at = sizeof(header);
  for (std::uint32_t i = 0; i < header.blocks; ++i, at += sizeof(BlockEntry)) {
    if (!Inside(at, sizeof(BlockEntry), directory.size())) return;
    auto entry = LoadAt<BlockEntry>(directory, at);
    if (!Inside(entry.offset, entry.bytes, file.size()) || entry.bytes < sizeof(BlockHeader)) {
      continue;
    }
    entry.header_checksum = ResealBlock(file.subspan(entry.offset, entry.bytes));
    StoreAt<BlockEntry>(directory, at, entry);
  }
  for (std::uint32_t i = 0; i < header.sections; ++i, at += sizeof(SectionEntry)) {
    if (!Inside(at, sizeof(SectionEntry), directory.size())) return;
    auto entry = LoadAt<SectionEntry>(directory, at);
    if (!Inside(entry.offset, entry.bytes, file.size())) continue;
    entry.checksum = Hash64(Bytes(file).subspan(entry.offset, entry.bytes));
    StoreAt<SectionEntry>(directory, at, entry);
  }
}

}  // namespace

void ResealShard(std::span<std::byte> file) {
  if (file.size() < sizeof(ShardHeader) + sizeof(ShardTail)) return;
  ResealHeader(file);
  const std::size_t tail_at = file.size() - sizeof(ShardTail);
  auto tail = LoadAt<ShardTail>(file, tail_at);
  if (Inside(tail.directory_offset, tail.directory_bytes, tail_at)) {
    const auto directory = file.subspan(tail.directory_offset, tail.directory_bytes);
    ResealDirectory(file, directory);
    tail.directory_checksum = Hash64(directory);
  }
  StoreAt<ShardTail>(file, tail_at, tail);
  ResealHead(file.subspan(tail_at));
}

}  // namespace sluice::fuzz
