#include "tests/fuzz/reseal.h"

#include <algorithm>
#include <optional>

#include <sluice/error.h>

#include "format/disk/block.h"
#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/shard.h"

namespace sluice::fuzz {

namespace {

// Writes the checksum of a structure's first 56 bytes into its last 8.
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

// The layout of a shard's rows, and the numbers of the fields that have payloads. `layout` is empty
// if the shard's schema cannot be read.
struct Rows {
  std::optional<RecordLayout> layout;
  std::vector<std::size_t> payload_fields;
};

Rows RowsOf(Bytes file) {
  Rows rows;
  const auto header = LoadAt<ShardHeader>(file, 0);
  if (!Inside(sizeof(header), header.schema_bytes, file.size())) return rows;
  try {
    const Schema schema =
        SchemaFromJson(AsText(file.subspan(sizeof(header), header.schema_bytes)), "");
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      if (schema.fields[f].kind != FieldKind::kArray) rows.payload_fields.push_back(f);
    }
    rows.layout.emplace(schema);
  } catch (const Error&) {
  }
  return rows;
}

void ResealPayloads(std::span<std::byte> block, const BlockHeader& header, const Rows& rows) {
  if (!rows.layout || header.record_bytes != rows.layout->record_bytes()) return;
  for (std::uint64_t row = 0; row < header.count; ++row) {
    const std::uint64_t row_at = sizeof(header) + row * header.record_bytes;
    for (const std::size_t field : rows.payload_fields) {
      const std::uint64_t at = row_at + rows.layout->offset(field);
      if (!Inside(at, sizeof(PayloadEntry), block.size())) return;
      auto entry = LoadAt<PayloadEntry>(block, at);
      if (entry.codec == 0 || !Inside(entry.offset, entry.size, block.size())) continue;
      entry.checksum = Hash64(Bytes(block).subspan(entry.offset, entry.size));
      StoreAt(block, at, entry);
    }
  }
}

// Returns the block header's checksum.
std::uint64_t ResealBlock(std::span<std::byte> block, const Rows& rows) {
  auto header = LoadAt<BlockHeader>(block, 0);
  ResealPayloads(block, header, rows);
  const std::uint64_t table_bytes = std::uint64_t{header.count} * header.record_bytes;
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
  const Rows rows = RowsOf(file);
  std::uint64_t at = sizeof(header);
  for (std::uint32_t i = 0; i < header.blocks; ++i, at += sizeof(BlockEntry)) {
    if (!Inside(at, sizeof(BlockEntry), directory.size())) return;
    auto entry = LoadAt<BlockEntry>(directory, at);
    if (!Inside(entry.offset, sizeof(BlockHeader), file.size())) continue;
    const std::uint64_t bytes = std::min<std::uint64_t>(entry.bytes, file.size() - entry.offset);
    if (bytes < sizeof(BlockHeader)) continue;
    entry.header_checksum = ResealBlock(file.subspan(entry.offset, bytes), rows);
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
