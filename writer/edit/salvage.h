// Saves from a damaged shard every sample whose values are all whole.
#pragma once

#include <functional>

#include <sluice/dataset_edit.h>

#include "format/disk/block.h"
#include "format/disk/file.h"

namespace sluice {

struct Salvage {
  Id128 id;                         // of the shard, out of its blocks
  std::uint32_t block_samples = 0;  // in each block
  std::uint64_t taken = 0;
};

// Looks for blocks at each page of `file`, with or without header, directory and tail
// (format/FORMAT.md, "Rebuilding what was lost"), and passes on their whole samples in order. Keys
// that cannot be read become NAME#NUMBER. Lost samples are added to `lost`; `planned` is the number
// of samples the shard should have, if known. Work and memory are in proportion to the file's size,
// whatever its content claims.
Salvage SalvageShard(const MappedFile& file, const std::string& name, const Schema& schema,
                     std::optional<std::uint64_t> planned,
                     const std::function<void(const Salvage&, EncodedSample&&)>& take,
                     std::vector<LostSample>& lost);

}  // namespace sluice
