// A folder on a local disk in which processes keep what they have fetched of remote datasets. What
// lies there, and why it may be trusted: CACHE.md.
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
inline constexpr const char* kCacheTable = "pieces";  // what is there
inline constexpr const char* kCacheLock = "lock";     // held, shared, by those who use it
inline constexpr char kCacheMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'P', 'C'};
inline constexpr std::uint32_t kCacheVersion = 2;

// Held while subfolders are made or removed.
class CacheLock {
 public:
  // Waits for other processes, which hold it for moments; but any process that may read the folder
  // can hold it for ever, so after a few seconds this throws SystemError(EWOULDBLOCK). `root` must
  // outlive it.
  static CacheLock Wait(const SharedFolder& root);
  // Nothing if another process holds it. Throws Error.
  static std::optional<CacheLock> Try(const SharedFolder& root);

  const SharedFolder& root() const noexcept { return *root_; }

 private:
  CacheLock(const SharedFolder& root, FileHandle file) : root_(&root), file_(std::move(file)) {}
  const SharedFolder* root_;
  FileHandle file_;
};

struct CacheEntry {
  std::string id;
  std::uint64_t bytes = 0;     // that are there
  std::uint64_t of_bytes = 0;  // of the whole dataset
  bool in_use = false;         // by some process
};

// Sorted by when they were last used, the longest ago first. Throws Error if there is no such
// folder.
std::vector<CacheEntry> EntriesOfCache(const std::filesystem::path& root);

// Removes datasets that no process uses, the longest unused first, until all others than `own` take
// at most `most` bytes. Returns the bytes that those others take then. It never touches a folder of
// another form, with anything else in it, or of another user.
std::uint64_t TrimCache(const CacheLock& lock, const std::string& own, std::uint64_t most);

}  // namespace sluice
