// A folder on a local disk in which processes keep the pieces of remote datasets that they have
// fetched. CACHE.md says what lies there, and why it may be trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "format/disk/shared_folder.h"

namespace sluice {

// The files of a dataset's subfolder, which is named by the dataset's id.
inline constexpr const char* kCacheData = "data";     // the shards, one after another; sparse
inline constexpr const char* kCacheTable = "pieces";  // which pieces are there
// The dataset's lock. Each process that uses the dataset holds the lock, shared. When the process
// opens the dataset, it touches the lock if it may write there, so the lock's time of modification
// is the time of the last use. (The cache's own lock has the same name, in the cache's folder.)
inline constexpr const char* kCacheLock = "lock";
inline constexpr char kCacheMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'P', 'C'};
inline constexpr std::uint32_t kCacheVersion = 2;

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
  std::string id;
  std::uint64_t bytes = 0;     // fetched and kept
  std::uint64_t of_bytes = 0;  // size of the whole dataset
  bool in_use = false;         // by any process
};

// The datasets in the cache, sorted by their last use, the least recent first. Throws Error if
// there is no such folder.
std::vector<CacheEntry> EntriesOfCache(const std::filesystem::path& root);

// Removes datasets that no process uses, the least recently used first, until all datasets but the
// caller's own, whose id is `own`, take at most `most` bytes. Returns the bytes that all but `own`
// then take. Never touches a folder that is not named by an id, holds any other file, or belongs to
// another user.
std::uint64_t TrimCache(const CacheLock& lock, const std::string& own, std::uint64_t most);

}  // namespace sluice
