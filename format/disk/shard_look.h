// Shards as they lie in a dataset's folder, against what its manifest says of them: for commands
// that go through all samples, before they begin.
//
// A look costs an open and a read of 64 bytes, and maps nothing. It says that the file is there, as
// long as it should be, and the shard that is meant; whether its content is whole shows when it is
// read.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <vector>

#include <sluice/error.h>

#include "format/disk/manifest.h"

namespace sluice {

// Why the shard cannot be what the manifest says, if so: kNotFound, kIo, kCorrupt, kUnsupported.
std::optional<Error> LookAtShard(const std::filesystem::path& folder, const ManifestShard& shard);

// All shards of a dataset. A faulty shard is one fault, however many samples the manifest gives it.
struct ShardsLook {
  static constexpr std::size_t kMaxKept = 100;

  std::vector<bool> faulty;   // by shard
  std::uint64_t shards = 0;   // that are faulty
  std::uint64_t samples = 0;  // that the manifest says these have
  std::vector<Error> errors;  // of the first kMaxKept of them
};

// Ends early, with what it has seen, when asked to stop.
ShardsLook LookAtShards(const std::filesystem::path& folder, const Manifest& manifest,
                        const std::stop_token& stop = {});

}  // namespace sluice
