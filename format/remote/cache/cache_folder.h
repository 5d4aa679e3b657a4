// A folder on a local disk in which processes keep the pieces of remote datasets that they have
// fetched. CACHE.md says what lies there, and why it may be trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/disk/bytes.h"
#include "format/disk/shared_folder.h"

namespace sluice {

// The files of a dataset's subfolder. Its name is the digest of the list of shards that it was made
// for; which shards it keeps now is what the list in it says.
inline constexpr const char* kCacheData = "data";      // the shards, one after another; sparse
inline constexpr const char* kCacheTable = "pieces";   // which pieces are there
inline constexpr const char* kCacheShards = "shards";  // a list of CachedShard
// The dataset's lock. Each process that uses the dataset holds the lock, shared. When the process
// opens the dataset, it touches the lock if it may write there, so the lock's time of modification
// is the time of the last use. (The cache's own lock has the same name, in the cache's folder.)
inline constexpr const char* kCacheLock = "lock";
inline constexpr char kCacheMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'P', 'C'};
inline constexpr std::uint32_t kCacheVersion = 3;

// A shard whose pieces a subfolder keeps. Datasets of which one begins with the shards of the other
// share a subfolder: an appended dataset and the one before it, and versions that differ only in
// their columns or in deleted samples.
struct CachedShard {
  Id128 id;
  Id128 digest;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  friend bool operator==(const CachedShard&, const CachedShard&) = default;
};
static_assert(sizeof(CachedShard) == 48);
using CachedShards = std::vector<CachedShard>;

// Where a list of shards ends in the subfolder's files.
struct CachePlace {
  std::uint64_t bytes = 0;   // of the data
  std::uint64_t pieces = 0;  // of the table
  void Add(const CachedShard& shard) noexcept;
  static CachePlace After(const CachedShards& shards) noexcept;
};

// The cache's lock, which a process holds while it makes or removes subfolders.
class CacheLock {
 public:
  // Waits for other processes, which hold the lock only for moments. But any process that may read
  // the folder could hold it forever, so after a few seconds this throws SystemError(EWOULDBLOCK).
  // `root` must outlive the lock.
  static CacheLock Wait(const SharedFolder& root);
  // Returns nullopt if another process holds the lock. Throws Error.
  static std::optional<CacheLock> Try(const SharedFolder& root);

  const SharedFolder& root() const noexcept { return *root_; }

 private:
  CacheLock(const SharedFolder& root, FileHandle file) : root_(&root), file_(std::move(file)) {}
  const SharedFolder* root_;
  FileHandle file_;
};

struct CacheEntry {
  std::string id;              // the name of its subfolder
  std::uint64_t bytes = 0;     // fetched and kept
  std::uint64_t of_bytes = 0;  // size of the whole dataset
  bool in_use = false;         // by any process
};

// The subfolder for a dataset with those shards, and the shards that it keeps already. One that is
// not there yet keeps none. If several fit, takes the one with the longest list.
std::pair<std::string, CachedShards> CacheFolderOf(const SharedFolder& root,
                                                   const CachedShards& shards);

// The datasets in the cache, sorted by their last use, the least recent first. Throws Error if
// there is no such folder.
std::vector<CacheEntry> EntriesOfCache(const std::filesystem::path& root);

// Removes datasets that no process uses, the least recently used first, until all datasets but the
// caller's own, whose subfolder is `own`, take at most `most` bytes. Returns the bytes that all but
// `own` then take. Never touches a folder that is not named by a digest, holds any other file, or
// belongs to another user.
std::uint64_t TrimCache(const CacheLock& lock, const std::string& own, std::uint64_t most);

}  // namespace sluice
