// Compares the shards in a dataset's folder with what its manifest says of them. Commands that go
// through all samples do this before they begin.
//
// To compare a shard, its file is opened and 64 bytes are read; nothing is mapped. This shows that
// the file exists, has the right length, and is the shard that is meant. Damage to its content
// shows only when it is read.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <vector>

#include <sluice/error.h>

#include "format/disk/manifest.h"

namespace sluice {

// Why the file in the folder cannot be the manifest's shard (kNotFound, kMemory, kIo, kCorrupt);
// nullopt if it can be. A shard of another format version passes: opening it reports the version.
std::optional<Error> LookAtShard(const std::filesystem::path& folder, const ManifestShard& shard);

// The result for all shards of a dataset. A faulty shard is one fault, however many samples the
// manifest gives it.
struct ShardsLook {
  static constexpr std::size_t kMaxKept = 100;

  std::vector<bool> faulty;   // by shard
  std::uint64_t shards = 0;   // how many of them are faulty
  std::uint64_t samples = 0;  // of the faulty shards, by the manifest
  std::vector<Error> errors;  // of the first kMaxKept faulty shards
};

// If asked to stop, ends early, and returns what it has found so far.
ShardsLook LookAtShards(const std::filesystem::path& folder, const Manifest& manifest,
                        const std::stop_token& stop = {});

}  // namespace sluice
