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

#include "format/disk/file_lock.h"
#include "format/disk/system_error.h"
#include "format/remote/cache/sparse_data.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

// Opens a dataset's folder if a cache has made it. (Users keep other things on fast disks, too.)
std::optional<SharedFolder> CachedIn(const SharedFolder& root, const std::string& name) {
  if (Id128 id; !FromHex(name, id)) return std::nullopt;
  try {
    SharedFolder folder = root.OpenFolder(name);
    bool table = false;
    for (const std::string& inside : folder.Names()) {
      table = table || inside == kCacheTable;
      if (inside != kCacheData && inside != kCacheTable && inside != kCacheLock)
        return std::nullopt;
    }
    return table ? std::optional(std::move(folder)) : std::nullopt;
  } catch (const Error&) {  // a file, a link, or another user's
    return std::nullopt;
  }
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
    for (const char* const name : {kCacheData, kCacheTable, kCacheLock})
      dataset.folder.Remove(name);
    lock.root().Remove(dataset.entry.id);
    used -= dataset.entry.bytes;
  }
  return used;
}

}  // namespace sluice
