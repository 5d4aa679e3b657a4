// Copies datasets between folders and object stores.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include <sluice/error.h>

namespace sluice {

// The options of CopyDataset().
struct CopyOptions {
  unsigned threads = 4;  // shards copied at once; each is held in memory whole
  // Bytes done and in all; called by one thread at a time.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress = {};
  std::stop_token stop = {};  // ends the work with Error(kState)
};

// The result of CopyDataset().
struct CopyReport {
  std::string target;                      // as given, but without the secrets that a URL may have
  std::uint64_t samples = 0;               // of the dataset
  std::uint64_t shards = 0;                // of the dataset
  std::uint64_t bytes = 0;                 // of all shards
  std::uint64_t shards_already_there = 0;  // an earlier call had copied them, and they are whole
};

// Copies a dataset; source and target may each be a folder or a URL (s3://, gs://, http:// or
// https://; nothing can be written to a plain HTTP server). Shards come first and the manifest
// last, so that a reader sees nothing or all of it. Call it again to resume after a stop or a
// crash, or to restore shards that were lost or damaged since: shards at the target are read whole
// and compared with their checksums, and sound shards are not copied again. Every byte of a shard
// is compared with its checksum before it is written. Errors: what reading the source throws,
// kCorrupt if it is damaged; kExists if the target holds another dataset or an unfinished
// conversion; kIo; kState (stopped).
CopyReport CopyDataset(const std::filesystem::path& source, const std::filesystem::path& target,
                       const CopyOptions& options = {});

}  // namespace sluice
