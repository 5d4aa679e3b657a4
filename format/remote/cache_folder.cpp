#include "format/remote/cache_folder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/system_error.h"
#include "format/remote/sparse_data.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

// Whether a cache made this folder. Users keep other things on fast disks, too.
bool IsCached(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code error;
  if (name.size() != 32 || name.find_first_not_of("0123456789abcdef") != std::string::npos ||
      entry.is_symlink(error) || !entry.is_directory(error)) {
    return false;
  }
  bool table = false;
  for (const fs::directory_entry& file : fs::directory_iterator(entry.path(), error)) {
    const std::string inside = file.path().filename().string();
    table = table || inside == kCacheTable;
    if (inside != kCacheData && inside != kCacheTable && inside != kCacheLock) return false;
  }
  return table && !error;
}

bool LockNow(const FileHandle& file, int how) {
  int result = 0;
  do {
    result = flock(file.get(), how | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// The dataset's lock; empty if a process uses the dataset.
FileHandle TakeUnused(const fs::path& folder) {
  FileHandle lock(open((folder / kCacheLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  return lock && LockNow(lock, LOCK_EX) ? std::move(lock) : FileHandle();
}

}  // namespace

CacheLock CacheLock::OfFolder(const fs::path& root) {
  constexpr std::chrono::milliseconds kPause{5};
  constexpr int kTries = 6000;
  CreateFolder(root);
  FileHandle file(open((root / kCacheLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    throw SystemError(ErrorCode::kIo, (root / kCacheLock).string(),
                      "cannot be opened: " + SystemErrorText(errno), errno);
  }
  for (int i = 0; !LockNow(file, LOCK_EX); ++i) {
    if (errno != EWOULDBLOCK || i == kTries) {
      throw SystemError(ErrorCode::kIo, (root / kCacheLock).string(),
                        "cannot be locked: " + SystemErrorText(errno), errno);
    }
    std::this_thread::sleep_for(kPause);
  }
  return CacheLock(std::move(file));
}

namespace {

std::vector<CacheEntry> List(const fs::path& root) {
  std::vector<std::pair<fs::file_time_type, CacheEntry>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    if (!IsCached(entry)) continue;
    CacheEntry dataset;
    dataset.id = entry.path().filename().string();
    dataset.in_use = !TakeUnused(entry.path());
    SparseData::Head head{};
    const FileHandle table(open((entry.path() / kCacheTable).c_str(), O_RDONLY | O_CLOEXEC));
    if (table && pread(table.get(), &head, sizeof(head), 0) == static_cast<ssize_t>(sizeof(head)) &&
        std::memcmp(head.magic, kCacheMagic, sizeof(kCacheMagic)) == 0) {
      dataset.bytes = head.used;
      dataset.of_bytes = head.bytes;
    }
    std::error_code ignored;
    found.emplace_back(fs::last_write_time(entry.path() / kCacheLock, ignored), std::move(dataset));
  }
  if (error) {
    throw Error(
        error == std::errc::no_such_file_or_directory ? ErrorCode::kNotFound : ErrorCode::kIo,
        root.string(), "cannot be listed: " + error.message());
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CacheEntry> datasets;
  for (auto& [time, dataset] : found)
    datasets.push_back(std::move(dataset));
  return datasets;
}

}  // namespace

std::vector<CacheEntry> EntriesOfCache(const fs::path& root) {
  std::error_code ignored;
  if (!fs::exists(root / kCacheLock, ignored)) return List(root);  // nobody has used it yet
  const CacheLock lock = CacheLock::OfFolder(root);
  return List(root);
}

std::uint64_t TrimCache(const fs::path& root, const std::string& own, std::uint64_t most) {
  const CacheLock lock = CacheLock::OfFolder(root);
  std::vector<CacheEntry> datasets = List(root);
  std::uint64_t used = 0;
  for (const CacheEntry& dataset : datasets)
    used += dataset.id == own ? 0 : dataset.bytes;
  for (const CacheEntry& dataset : datasets) {
    if (used <= most) break;
    if (dataset.id == own) continue;
    const fs::path folder = root / dataset.id;
    const FileHandle unused = TakeUnused(folder);
    if (!unused) continue;
    std::error_code ignored;
    for (const char* const name : {kCacheData, kCacheTable, kCacheLock})
      fs::remove(folder / name, ignored);
    fs::remove(folder, ignored);
    used -= dataset.bytes;
  }
  return used;
}

}  // namespace sluice
