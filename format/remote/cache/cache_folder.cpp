// The cache's folder may hold other things of its user, and of other users. CachedIn() alone
// decides what is a dataset of the cache; everything else there is left alone.
// Whether a dataset is in use is found by trying its lock for a moment. TrimCache() takes that lock
// once more before it removes a dataset, and holds it until the files are gone. The folder of a
// dataset is removed last, and only if it is empty by then.
#include "format/remote/cache/cache_folder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <tuple>

#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/file_lock.h"
#include "format/disk/limits.h"
#include "format/disk/shard_fetch.h"
#include "format/disk/system_error.h"
#include "format/remote/cache/sparse_data.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

// Each shard's mapping begins at a page; this is the largest usual page size of a machine.
constexpr std::uint64_t kShardAlignment = 65536;

// Opens a dataset's folder if a cache has made it. (Users keep other things on fast disks, too.)
std::optional<SharedFolder> CachedIn(const SharedFolder& root, const std::string& name) {
  if (Id128 id; !FromHex(name, id)) return std::nullopt;
  try {
    SharedFolder folder = root.OpenFolder(name);
    bool table = false;
    for (const std::string& inside : folder.Names()) {
      table = table || inside == kCacheTable;
      if (inside != kCacheData && inside != kCacheTable && inside != kCacheShards &&
          inside != kCacheLock)
        return std::nullopt;
    }
    return table ? std::optional(std::move(folder)) : std::nullopt;
  } catch (const Error&) {  // a file, a link, or another user's
    return std::nullopt;
  }
}

// The list of shards in the folder, up to the first entry that cannot be right: a crash of the
// machine may have left zeros.
CachedShards ShardsIn(const SharedFolder& folder) {
  CachedShards shards;
  try {
    const FileHandle file = folder.OpenForReading(kCacheShards);
    struct stat info {};
    if (fstat(file.get(), &info) != 0 || info.st_size < 0) return {};
    const auto size = static_cast<std::uint64_t>(info.st_size) / sizeof(CachedShard);
    shards.resize(std::min<std::uint64_t>(size, kMaxShards));
    if (!ReadWhole(file, 0, std::as_writable_bytes(std::span(shards)))) return {};
  } catch (const Error&) {
    return {};
  }
  shards.erase(std::ranges::find_if(shards,
                                    [](const CachedShard& shard) {
                                      return shard.blocks == 0 || shard.bytes > kMaxShardBytes;
                                    }),
               shards.end());
  return shards;
}

// Takes the dataset's lock. Returns an empty handle if a process uses the dataset.
FileHandle TakeUnused(const SharedFolder& folder) {
  try {
    FileHandle lock = folder.OpenLock(kCacheLock);
    return LockFile(lock, FileHold::kExclusive) ? std::move(lock) : FileHandle();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void CachePlace::Add(const CachedShard& shard) noexcept {
  bytes += AlignUp(shard.bytes, kShardAlignment);
  // A block takes a page at least, whatever number of blocks the manifest claims.
  pieces += ShardParts::PartsOf(std::min(shard.blocks, shard.bytes / kPageBytes));
}

CachePlace CachePlace::After(const CachedShards& shards) noexcept {
  CachePlace place;
  for (const CachedShard& shard : shards)
    place.Add(shard);
  return place;
}

std::pair<std::string, CachedShards> CacheFolderOf(const SharedFolder& root,
                                                   const CachedShards& shards) {
  std::pair<std::string, CachedShards> best;
  for (const std::string& name : root.Names()) {
    const std::optional<SharedFolder> folder = CachedIn(root, name);
    if (!folder || !folder->Has(kCacheShards)) continue;
    CachedShards there = ShardsIn(*folder);
    const auto both = static_cast<std::ptrdiff_t>(std::min(there.size(), shards.size()));
    if (both > 0 && there.size() > best.second.size() &&
        std::equal(there.begin(), there.begin() + both, shards.begin())) {
      best = {name, std::move(there)};
    }
  }
  if (best.first.empty()) best.first = ToHex(Hash128(std::as_bytes(std::span(shards))));
  return best;
}

std::optional<CacheLock> CacheLock::Try(const SharedFolder& root) {
  FileHandle file = root.OpenLock(kCacheLock);
  if (LockFile(file, FileHold::kExclusive)) return CacheLock(root, std::move(file));
  if (errno == EWOULDBLOCK) return std::nullopt;
  throw SystemError(ErrorCode::kIo, (root.path() / kCacheLock).string(),
                    "cannot be locked: " + SystemErrorText(errno), errno);
}

CacheLock CacheLock::Wait(const SharedFolder& root) {
  constexpr std::chrono::milliseconds kPause{5};
  constexpr std::chrono::seconds kMax{3};
  const auto end = std::chrono::steady_clock::now() + kMax;
  while (std::chrono::steady_clock::now() < end) {
    if (std::optional<CacheLock> lock = Try(root)) return *std::move(lock);
    std::this_thread::sleep_for(kPause);
  }
  throw SystemError(ErrorCode::kIo, (root.path() / kCacheLock).string(),
                    "another process keeps it locked; wait for that process or end it",
                    EWOULDBLOCK);
}

namespace {

struct Listed {
  CacheEntry entry;
  SharedFolder folder;
  // When the dataset was last used: its lock's time of modification, since a process that opens the
  // dataset for writing touches the lock (SparseData). Not to be confused with
  // SparseData::Head::used, a number of bytes.
  timespec used{};
};

std::vector<Listed> List(const SharedFolder& root) {
  std::vector<Listed> found;
  for (const std::string& name : root.Names()) {
    std::optional<SharedFolder> folder = CachedIn(root, name);
    if (!folder) continue;
    CacheEntry dataset;
    dataset.id = name;
    dataset.in_use = !TakeUnused(*folder);
    struct stat info {};
    try {
      SparseData::Head head{};
      const FileHandle table = folder->OpenForReading(kCacheTable);
      if (ReadWhole(table, 0, std::as_writable_bytes(std::span(&head, 1))) &&
          std::memcmp(head.magic, kCacheMagic, sizeof(kCacheMagic)) == 0) {
        dataset.bytes = head.used;
        dataset.of_bytes = head.bytes;
      }
      fstat(folder->OpenForReading(kCacheLock).get(), &info);
    } catch (const Error&) {
      continue;
    }
    found.push_back({std::move(dataset), *std::move(folder), info.st_mtim});
  }
  std::stable_sort(found.begin(), found.end(), [](const Listed& a, const Listed& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec) < std::tie(b.used.tv_sec, b.used.tv_nsec);
  });
  return found;
}

}  // namespace

std::vector<CacheEntry> EntriesOfCache(const fs::path& path) {
  const SharedFolder root = SharedFolder::Open(path);
  std::optional<CacheLock> lock;
  if (root.Has(kCacheLock)) lock = CacheLock::Wait(root);  // otherwise no process has used it yet
  std::vector<CacheEntry> entries;
  for (Listed& dataset : List(root))
    entries.push_back(std::move(dataset.entry));
  return entries;
}

std::uint64_t TrimCache(const CacheLock& lock, const std::string& own, std::uint64_t most) {
  const std::vector<Listed> datasets = List(lock.root());
  std::uint64_t used = 0;  // bytes that all datasets but `own` take
  for (const Listed& dataset : datasets)
    used += dataset.entry.id == own ? 0 : dataset.entry.bytes;
  for (const Listed& dataset : datasets) {
    if (used <= most) break;
    if (dataset.entry.id == own) continue;
    const FileHandle unused = TakeUnused(dataset.folder);
    if (!unused) continue;
    for (const char* const name : {kCacheData, kCacheTable, kCacheShards, kCacheLock})
      dataset.folder.Remove(name);
    lock.root().Remove(dataset.entry.id);
    used -= dataset.entry.bytes;
  }
  return used;
}

}  // namespace sluice
