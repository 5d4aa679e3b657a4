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
  unsigned threads = 4;  // shards copied at the same time; each is held in memory as a whole
  // Gets the number of bytes done and the number in all. Called by one thread at a time.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress = {};
  std::stop_token stop = {};  // a stop request ends the work with Error(kState)
};

// The result of CopyDataset().
struct CopyReport {
  std::string target;                      // as given, without the secrets that a URL may have
  std::uint64_t samples = 0;               // in the dataset
  std::uint64_t shards = 0;                // in the dataset
  std::uint64_t bytes = 0;                 // of all shards
  std::uint64_t shards_already_there = 0;  // sound shards that an earlier call had copied
};

// Copies a dataset. Source and target may each be a folder or a URL (s3://, gs://, http:// or
// https://), but nothing can be written to a plain HTTP server. Shards are copied first and the
// manifest last, so that a reader finds either nothing or the whole dataset. Every byte of a shard
// is compared with its checksum before it is written.
//
// Call it again to resume after a stop or a crash, or to restore shards that were lost or damaged
// since. The call compares the shards at the target with their checksums, and copies only those
// that are missing or damaged.
//
// Errors:
//
//   kCorrupt   the source is damaged
//   kExists    the target holds another dataset or an unfinished conversion
//   kState     stopped
//   kIo, and those of reading the source
CopyReport CopyDataset(const std::filesystem::path& source, const std::filesystem::path& target,
                       const CopyOptions& options = {});

}  // namespace sluice
