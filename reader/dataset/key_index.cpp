#include "reader/dataset/key_index.h"

#include <algorithm>
#include <new>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

namespace {

std::uint64_t HashOfKey(std::string_view key) noexcept {
  return Hash64(std::as_bytes(std::span(key)));
}

}  // namespace

std::optional<std::uint64_t> KeyIndex::Find(DatasetState& dataset, std::string_view key) {
  std::shared_ptr<const Entries> entries;
  {
    const MutexLock lock(mutex_);
    if (entries_ == nullptr) entries_ = std::make_shared<const Entries>(Read(dataset));
    entries = entries_;
  }
  // Other keys may have the same hash.
  const std::uint64_t hash = HashOfKey(key);
  for (auto at = std::lower_bound(entries->begin(), entries->end(), Entry{hash, 0});
       at != entries->end() && at->hash == hash; ++at) {
    const SampleRef ref = dataset.shape.Sample(at->sample);
    const ShardUse shard = dataset.Shard(ref.shard);
    const std::uint64_t row = std::uint64_t{ref.block} * shard->block_samples() + ref.row;
    if (dataset.Key(*shard, row) == key) return at->sample;
  }
  return std::nullopt;
}

KeyIndex::Entries KeyIndex::Read(DatasetState& dataset) try {
  // Grows with the shards that are there, not with the samples that the manifest claims.
  Entries entries;
  for (std::uint32_t s = 0; s < dataset.shards.size(); ++s) {
    const ShardUse shard = dataset.Shard(s);
    KeyChunk chunk;
    for (std::uint64_t row = 0; row < shard->samples(); ++row) {
      if (!chunk.Holds(row)) shard->Key(row, chunk);
      entries.push_back({HashOfKey(chunk.Key(row)), entries.size()});
    }
  }
  entries.shrink_to_fit();
  std::sort(entries.begin(), entries.end());
  return entries;
} catch (const std::bad_alloc&) {
  throw Error(ErrorCode::kLimit, dataset.folder.string(),
              "Dataset::Find() needs 16 bytes of memory for each of the " +
                  std::to_string(dataset.manifest.samples) +
                  " samples, and up to 48 while it reads their keys; there is not that much");
}

}  // namespace sluice
