#include "reader/reading/shard_stage.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/absolute_path.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

// Opens the file, or creates it, and locks it. An empty handle if another process holds the lock.
FileHandle OpenLocked(const fs::path& path, int how) {
  FileHandle file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    throw Error(ErrorCode::kIo, path.string(),
                "cannot be opened (LoaderOptions::stage): " + SystemErrorText(errno));
  }
  int result = 0;
  do {
    result = flock(file.get(), how | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? std::move(file) : FileHandle();
}

// The pause between two attempts to get a lock that another process holds.
constexpr std::chrono::milliseconds kOthersLock{100};

void MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw Error(ErrorCode::kIo, path.string(),
                "cannot be made (LoaderOptions::stage): " + error.message());
  }
}

bool IsCopy(const fs::path& file) {
  const fs::path name = file.filename();
  return (name.extension() == kTemporarySuffix ? name.stem() : name).extension() == ".sluice";
}

fs::path TemporaryOf(fs::path copy) {
  copy += kTemporarySuffix;
  return copy;
}

// Whether a stage made this folder: its name is an id, and it holds nothing but copies and their
// lock. Users keep other things on fast disks, too.
bool IsStaged(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code error;
  if (name.size() != 32 || name.find_first_not_of("0123456789abcdef") != std::string::npos ||
      entry.is_symlink(error) || !entry.is_directory(error)) {
    return false;
  }
  bool locked = false;
  for (const fs::directory_entry& file : fs::directory_iterator(entry.path(), error)) {
    const bool lock = file.path().filename() == "lock";
    if (!file.is_regular_file(error) || (!lock && !IsCopy(file.path()))) return false;
    locked = locked || lock;
  }
  return locked && !error;
}

// Removes files that a stage made, and nothing that was added since.
void RemoveStaged(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, ignored)) {
    if (IsCopy(file.path())) fs::remove(file.path(), ignored);
  }
  fs::remove(folder / "lock", ignored);
  fs::remove(folder, ignored);  // only if it is empty
}

// Whether `inner` is the folder `outer` or lies in it.
bool LiesIn(const fs::path& inner, const fs::path& outer) {
  const fs::path there = fs::weakly_canonical(inner);
  const fs::path whole = fs::weakly_canonical(outer);
  return std::mismatch(whole.begin(), whole.end(), there.begin(), there.end()).first == whole.end();
}

// The bytes of the copies in a dataset's folder, finished or not.
std::uint64_t BytesIn(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::uint64_t size = entry.file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

struct Staged {
  fs::path folder;
  fs::file_time_type used;
};

// The staged datasets, the longest unused first.
std::vector<Staged> DatasetsIn(const fs::path& root) {
  std::vector<Staged> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, ignored)) {
    if (!IsStaged(entry)) continue;
    found.push_back({entry.path(), fs::last_write_time(entry.path() / "lock", ignored)});
  }
  std::sort(found.begin(), found.end(),
            [](const Staged& a, const Staged& b) { return a.used < b.used; });
  return found;
}

bool CopyBytes(int from, int to, std::uint64_t bytes, const std::atomic<bool>& stopping) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < bytes;) {
    if (stopping.load(std::memory_order_relaxed)) return false;
    const ssize_t got = pread(from, buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = pwrite(to, buffer.data() + done, static_cast<std::size_t>(got - done),
                                 static_cast<off_t>(at) + done);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      done += put;
    }
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

ShardStage::ShardStage(DatasetState& dataset, const fs::path& folder, std::uint64_t budget)
    : dataset_(dataset),
      root_(AbsolutePath(folder)),
      folder_(root_ / dataset.id),
      budget_(budget),
      wanted_(dataset.shards.size()),
      rejected_(dataset.shards.size()) {
  if (LiesIn(root_, dataset.place)) {
    throw Error(ErrorCode::kInvalidArgument, root_.string(),
                "Stage::folder is the dataset's own folder, or inside it; choose another folder");
  }
  MakeFolder(root_);
  Enter();
  thread_ = std::thread([this] { Run(); });
}

void ShardStage::Close() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_.store(true);
  }
  changed_.NotifyAll();
  thread_.join();
  in_use_ = FileHandle();
}

bool ShardStage::Enter() {
  const FileHandle root = OpenLocked(root_ / "lock", LOCK_EX);
  if (!root) return false;
  MakeFolder(folder_);
  in_use_ = OpenLocked(folder_ / "lock", LOCK_SH);
  if (!in_use_) return false;
  futimens(in_use_.get(), nullptr);  // used now
  entered_.store(true);
  return true;
}

fs::path ShardStage::PathOf(std::uint32_t shard) const {
  return folder_ / fs::path(dataset_.shards[shard].file).filename();
}

void ShardStage::Want(std::uint32_t shard) {
  if (wanted_[shard]) return;
  wanted_[shard] = true;
  if (entered_.load() && Adopt(shard)) return;
  {
    const MutexLock lock(mutex_);
    queue_.push_back({shard, {}, true});
  }
  changed_.NotifyOne();
}

void ShardStage::Reject(std::uint32_t shard, const ShardUse& copy) {
  try {
    if (!dataset_.LeaveCopy(shard, *copy)) return;
  } catch (const Error&) {
    return;  // the original cannot be read any more
  }
  staged_.fetch_sub(1, std::memory_order_relaxed);
  {
    const MutexLock lock(mutex_);
    // After two damaged copies of a shard, the disk is not trusted with a third.
    queue_.push_back({shard, copy, !rejected_[shard]});
    rejected_[shard] = true;
  }
  changed_.NotifyOne();
}

bool ShardStage::Adopt(std::uint32_t shard) {
  const fs::path path = PathOf(shard);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return false;
  try {
    dataset_.ReadFrom(shard, path);
    staged_.fetch_add(1, std::memory_order_relaxed);
    return true;
  } catch (const Error& error) {
    // Removes a file that is not a copy of the shard. But kIo may mean that no descriptor or
    // address space was left to map it, which is not the copy's fault.
    if (error.code() != ErrorCode::kIo) fs::remove(path, ignored);
    return false;
  }
}

bool ShardStage::MakeRoom(std::uint64_t bytes) const {
  std::vector<Staged> datasets = DatasetsIn(root_);
  std::uint64_t used = 0;
  for (const Staged& staged : datasets)
    used += BytesIn(staged.folder);
  for (const Staged& staged : datasets) {
    if (used + bytes <= budget_) return true;
    // Every process that reads from that folder, this one included, holds its lock.
    if (!OpenLocked(staged.folder / "lock", LOCK_EX)) continue;
    used -= BytesIn(staged.folder);
    RemoveStaged(staged.folder);
  }
  return used + bytes <= budget_;
}

// The part of a task that needs the stage's lock. `copy` gets the file to fill.
ShardStage::Outcome ShardStage::Begin(const Task& task, FileHandle& copy) {
  const FileHandle root = OpenLocked(root_ / "lock", LOCK_EX);
  if (!root) return Outcome::kBusy;
  const fs::path path = PathOf(task.shard);
  if (task.rejected != nullptr && task.rejected->HasItsName()) fs::remove(path);
  if (!task.copy) return Outcome::kFailed;
  if (Adopt(task.shard)) return Outcome::kCopied;
  const fs::path temporary = TemporaryOf(path);
  copy = OpenLocked(temporary, LOCK_EX);
  if (!copy) return Outcome::kBusy;
  // Empties the file first: a process that died may have left a part of a copy.
  const std::uint64_t bytes = dataset_.shards[task.shard].bytes;
  if (ftruncate(copy.get(), 0) == 0 && MakeRoom(bytes) &&
      posix_fallocate(copy.get(), 0, static_cast<off_t>(bytes)) == 0) {
    return Outcome::kCopied;
  }
  unlink(temporary.c_str());
  return Outcome::kNoRoom;
}

ShardStage::Outcome ShardStage::Do(const Task& task) {
  FileHandle copy;
  const Outcome begun = Begin(task, copy);
  if (!copy || begun != Outcome::kCopied) return begun;
  const fs::path path = PathOf(task.shard);
  const fs::path temporary = TemporaryOf(path);
  const ManifestShard& shard = dataset_.manifest.shards[task.shard];
  const FileHandle source = OpenForReading(dataset_.place / shard.file);
  if (!CopyBytes(source.get(), copy.get(), shard.bytes, stopping_) || fsync(copy.get()) != 0 ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    unlink(temporary.c_str());
    return Outcome::kFailed;
  }
  SyncFolder(folder_);
  return Adopt(task.shard) ? Outcome::kCopied : Outcome::kFailed;
}

// Tries until the dataset's lock is held. False if that will not happen.
bool ShardStage::EnterSoon() {
  while (!stopping_ && !entered_.load()) {
    try {
      const MutexUnlock unlocked(mutex_);
      Enter();
    } catch (const std::exception&) {
      return false;  // the folder is gone
    }
    if (!entered_.load() && !stopping_) changed_.WaitFor(mutex_, kOthersLock);
  }
  return !stopping_;
}

void ShardStage::Run() {
  const MutexLock lock(mutex_);
  if (!EnterSoon()) return;
  while (!stopping_) {
    if (queue_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    const Task task = std::move(queue_.front());
    queue_.pop_front();
    Outcome outcome = Outcome::kFailed;
    try {
      const MutexUnlock unlocked(mutex_);
      outcome = Do(task);
    } catch (const std::exception&) {
      outcome = Outcome::kFailed;
    }
    if (outcome == Outcome::kBusy) {
      queue_.push_back(task);
      if (!stopping_) changed_.WaitFor(mutex_, kOthersLock);
    }
  }
}

}  // namespace sluice
