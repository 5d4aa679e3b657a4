// What can be had of a damaged shard: every sample all of whose values are whole.
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
// (format/FORMAT.md, "Rebuilding what was lost"), and hands on their whole samples in order. Keys
// that cannot be read become NAME#NUMBER. What was lost goes to `lost`; `planned` is how many
// samples the shard should have, where that is known. Work and memory are in proportion to the
// file, whatever it says of itself.
Salvage SalvageShard(const MappedFile& file, const std::string& name, const Schema& schema,
                     std::optional<std::uint64_t> planned,
                     const std::function<void(const Salvage&, EncodedSample&&)>& take,
                     std::vector<LostSample>& lost);

}  // namespace sluice
