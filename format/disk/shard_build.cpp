// The header and the tail are stored twice: a checksum covers the stored bytes before it, so these
// must be there before it can be computed. The tail has a fixed size and comes last, so that a
// reader finds it from the file's length alone, and the directory through it. The shard's digest
// covers the directory and the tail; through the checksums in them, it stands for the rest of the
// shard.
#include "format/disk/shard_build.h"

#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"

namespace sluice {

std::vector<std::byte> BuildShardHeader(const Schema& schema, Id128 shard_id,
                                        std::uint32_t block_samples) {
  const std::string text = SchemaToJson(schema);
  const std::uint64_t bytes = AlignUp(sizeof(ShardHeader) + text.size(), kPageBytes);
  if (bytes > kMaxHeaderBytes) {
    throw Error(ErrorCode::kLimit,
                "the schema takes more than 16 MiB as text; shorten class names");
  }
  ShardHeader header;
  header.header_bytes = static_cast<std::uint32_t>(bytes);
  header.shard_id = shard_id;
  header.block_samples = block_samples;
  header.schema_bytes = static_cast<std::uint32_t>(text.size());
  header.schema_checksum = Hash64(AsBytes(text));
  std::vector<std::byte> out(bytes);
  StoreAt<ShardHeader>(out, 0, header);
  header.header_checksum = Hash64(Bytes(out).first(offsetof(ShardHeader, header_checksum)));
  StoreAt<ShardHeader>(out, 0, header);
  std::memcpy(out.data() + sizeof(header), text.data(), text.size());
  return out;
}

std::vector<std::byte> BuildShardEnd(const Schema& schema, const ShardContent& content,
                                     Id128& digest) {
  const auto& [shard, offset, blocks, sections, samples, columns] = content;
  const std::uint64_t bytes = DirectoryBytes(schema, blocks.size(), sections.size(), samples);
  const std::uint64_t end = AlignUp(offset + bytes + sizeof(ShardTail), kPageBytes);
  std::vector<std::byte> out(end - offset);

  DirectoryHeader header;
  header.blocks = static_cast<std::uint32_t>(blocks.size());
  header.sections = static_cast<std::uint32_t>(sections.size());
  header.samples = samples;
  header.columns = static_cast<std::uint32_t>(columns.size());
  header.shard_id = shard.shard_id;
  header.header_checksum = shard.header_checksum;
  header.bytes = bytes;
  StoreAt<DirectoryHeader>(out, 0, header);
  std::uint64_t at = sizeof(header);
  for (const BlockEntry& entry : blocks) {
    StoreAt<BlockEntry>(out, at, entry);
    at += sizeof(entry);
  }
  for (const SectionEntry& entry : sections) {
    StoreAt<SectionEntry>(out, at, entry);
    at += sizeof(entry);
  }
  for (const std::vector<std::byte>& column : columns) {
    // DirectoryBytes() counts the same gaps.
    at = AlignUp(at, kPayloadAlignment);
    std::memcpy(out.data() + at, column.data(), column.size());
    at += column.size();
  }

  ShardTail tail;
  tail.shard_id = shard.shard_id;
  tail.directory_offset = offset;
  tail.directory_bytes = bytes;
  tail.directory_checksum = Hash64(Bytes(out).first(bytes));
  const std::size_t tail_at = out.size() - sizeof(tail);
  StoreAt<ShardTail>(out, tail_at, tail);
  tail.tail_checksum = Hash64(Bytes(out).subspan(tail_at, offsetof(ShardTail, tail_checksum)));
  StoreAt<ShardTail>(out, tail_at, tail);
  digest = Hash128({Bytes(out).first(bytes), Bytes(out).subspan(tail_at)});
  return out;
}

}  // namespace sluice
