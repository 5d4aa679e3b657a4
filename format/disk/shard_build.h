// Builds a shard's frame for writers: a shard is its header, its blocks and sections, and its end.
//
// The header is known before the first block. The end (directory and tail) repeats what was written
// in between: where each block and section lies, and the scalar fields as columns. So a writer that
// streams blocks to a file keeps only these, and writes the end last; a file without it is no
// finished shard.
#pragma once

#include "format/disk/shard.h"

namespace sluice {

std::vector<std::byte> BuildShardHeader(const Schema& schema, Id128 shard_id,
                                        std::uint32_t block_samples);

// A shard's content, as its end (directory and tail) describes it.
struct ShardContent {
  const ShardHeader& header;
  std::uint64_t offset = 0;  // of the directory, 64-byte aligned
  std::span<const BlockEntry> blocks = {};
  std::span<const SectionEntry> sections = {};
  std::uint64_t samples = 0;
  std::span<const std::vector<std::byte>> columns = {};  // the values of each ColumnFields() field
};
// The directory, the padding after it and the tail. `digest` gets the shard's digest.
std::vector<std::byte> BuildShardEnd(const Schema& schema, const ShardContent& content,
                                     Id128& digest);

}  // namespace sluice
