#include "reader/reading/shard_stage.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <tuple>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/file.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

// Locks an open file and returns it. Returns an empty handle if another process holds the lock.
FileHandle TakeLock(FileHandle&& file, int how) {
  int result = 0;
  do {
    result = flock(file.get(), how | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? std::move(file) : FileHandle();
}

constexpr const char* kLockFile = "lock";

// The pause between two attempts to get a lock that another process holds.
constexpr std::chrono::milliseconds kOthersLock{100};

bool IsCopy(const std::string& file) {
  const fs::path name = file;
  const fs::path whole = NameOfTemporary(name.native());
  return (whole.empty() ? name : whole).extension() == ".sluice";
}

// A shard's name does not begin with a dot, so no shard can have this name.
std::string TemporaryOf(const std::string& copy) {
  return TemporaryName(copy).string();
}

// Whether `inner` is the folder `outer` or lies in it.
bool LiesIn(const fs::path& inner, const fs::path& outer) {
  const fs::path there = fs::weakly_canonical(inner);
  const fs::path whole = fs::weakly_canonical(outer);
  return std::mismatch(whole.begin(), whole.end(), there.begin(), there.end()).first == whole.end();
}

// A dataset's folder that a stage has made: its name is an id, and it holds only copies and their
// lock. (Users keep other things on fast disks, too.)
struct Staged {
  std::string id;
  SharedFolder folder;
  std::vector<std::string> copies;  // finished or not
  timespec used{};

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const std::string& copy : copies)
      sum += folder.BytesOf(copy);
    return sum;
  }
};

std::optional<Staged> StagedIn(const SharedFolder& root, const std::string& name) {
  if (Id128 id; !FromHex(name, id)) return std::nullopt;
  try {
    Staged staged{name, root.OpenFolder(name), {}};
    bool locked = false;
    for (const std::string& file : staged.folder.Names()) {
      struct stat info {};
      // Throws unless it is a regular file.
      const FileHandle opened = staged.folder.OpenForReading(file);
      if (file == kLockFile && fstat(opened.get(), &info) == 0) {
        locked = true;
        staged.used = info.st_mtim;
      } else if (IsCopy(file)) {
        staged.copies.push_back(file);
      } else {
        return std::nullopt;
      }
    }
    return locked ? std::optional(std::move(staged)) : std::nullopt;
  } catch (const Error&) {  // it is a file or a link, or belongs to another user
    return std::nullopt;
  }
}

// The staged datasets, the least recently used first.
std::vector<Staged> DatasetsIn(const SharedFolder& root) {
  std::vector<Staged> found;
  for (const std::string& name : root.Names()) {
    if (std::optional<Staged> staged = StagedIn(root, name)) found.push_back(*std::move(staged));
  }
  std::ranges::sort(found, [](const Staged& a, const Staged& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec) < std::tie(b.used.tv_sec, b.used.tv_nsec);
  });
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

ShardStage::ShardStage(DatasetState& dataset, const fs::path& path, std::uint64_t budget)
    : dataset_(dataset),
      root_(RootFor(dataset, AbsolutePath(path))),
      budget_(budget),
      wanted_(dataset.facts->shards.size()),
      rejected_(dataset.facts->shards.size()) {
  Enter();
  thread_ = std::thread([this] { Run(); });
}

SharedFolder ShardStage::RootFor(const DatasetState& dataset, const fs::path& path) {
  if (LiesIn(path, dataset.facts->place)) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "Stage::folder is the dataset's own folder, or inside it; choose another folder");
  }
  return SharedFolder::Make(path);
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
  const FileHandle root = TakeLock(root_.OpenLock(kLockFile), LOCK_EX);
  if (!root) return false;
  if (!folder_)
    folder_ = std::make_shared<const SharedFolder>(root_.MakeFolder(dataset_.facts->id));
  in_use_ = TakeLock(folder_->OpenLock(kLockFile), LOCK_SH);
  if (!in_use_) return false;
  for (const std::string& name : folder_->Names()) {
    try {
      folder_->OpenForReading(name);  // throws if there is something other than a regular file
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound) throw;  // renamed meanwhile
    }
  }
  futimens(in_use_.get(), nullptr);  // notes the time of use
  entered_.store(true);
  return true;
}

std::string ShardStage::NameOf(std::uint32_t shard) const {
  return fs::path(dataset_.facts->shards[shard].file).filename().string();
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
    if (!dataset_.table.LeaveCopy(shard, *copy)) return;
  } catch (const Error&) {
    return;  // the original cannot be read any more
  }
  staged_.fetch_sub(1, std::memory_order_relaxed);
  {
    const MutexLock lock(mutex_);
    // After two damaged copies of a shard, the stage makes no third copy.
    queue_.push_back({shard, copy, !rejected_[shard]});
    rejected_[shard] = true;
  }
  changed_.NotifyOne();
}

bool ShardStage::Adopt(std::uint32_t shard) {
  const std::string name = NameOf(shard);
  if (!folder_->Has(name)) return false;
  try {
    dataset_.table.ReadFrom(shard, {folder_, name});
    staged_.fetch_add(1, std::memory_order_relaxed);
    return true;
  } catch (const Error& error) {
    // Removes a file that is not a copy of the shard. kIo, however, may mean that no descriptor or
    // address space was left to map the file, so the copy may be good.
    if (error.code() != ErrorCode::kIo) folder_->Remove(name);
    return false;
  }
}

bool ShardStage::MakeRoom(std::uint64_t bytes) const {
  const std::vector<Staged> datasets = DatasetsIn(root_);
  std::uint64_t used = 0;
  for (const Staged& staged : datasets)
    used += staged.bytes();
  for (const Staged& staged : datasets) {
    if (used + bytes <= budget_) return true;
    // Every process that reads from that folder, including this one, holds its lock.
    const FileHandle unused = TakeLock(staged.folder.OpenLock(kLockFile), LOCK_EX);
    if (!unused) continue;
    used -= staged.bytes();
    for (const std::string& copy : staged.copies)
      staged.folder.Remove(copy);
    staged.folder.Remove(kLockFile);
    root_.Remove(staged.id);  // does nothing if files were added meanwhile
  }
  return used + bytes <= budget_;
}

// The part of a task that needs the stage's lock. Returns kCopied if the shard has a copy now, or
// if the copy can be made: then `copy` is the open file to fill.
ShardStage::Outcome ShardStage::Begin(const Task& task, FileHandle& copy) {
  const FileHandle root = TakeLock(root_.OpenLock(kLockFile), LOCK_EX);
  if (!root) return Outcome::kBusy;
  const std::string name = NameOf(task.shard);
  if (task.rejected != nullptr && task.rejected->HasItsName()) folder_->Remove(name);
  if (!task.copy) return Outcome::kFailed;
  if (Adopt(task.shard)) return Outcome::kCopied;
  const std::string temporary = TemporaryOf(name);
  copy = TakeLock(folder_->OpenFile(temporary), LOCK_EX);
  if (!copy) return Outcome::kBusy;
  // Empties the file first, since a process that died may have left part of a copy.
  const std::uint64_t bytes = dataset_.facts->shards[task.shard].bytes;
  if (ftruncate(copy.get(), 0) == 0 && MakeRoom(bytes) &&
      posix_fallocate(copy.get(), 0, static_cast<off_t>(bytes)) == 0) {
    return Outcome::kCopied;
  }
  folder_->Remove(temporary);
  return Outcome::kNoRoom;
}

ShardStage::Outcome ShardStage::Do(const Task& task) {
  FileHandle copy;
  const Outcome begun = Begin(task, copy);
  if (!copy || begun != Outcome::kCopied) return begun;
  const std::string name = NameOf(task.shard);
  const std::string temporary = TemporaryOf(name);
  const ManifestShard& shard = dataset_.facts->manifest.shards[task.shard];
  const FileHandle source = OpenForReading(dataset_.facts->place / shard.file);
  if (!CopyBytes(source.get(), copy.get(), shard.bytes, stopping_) || fsync(copy.get()) != 0 ||
      !folder_->Rename(temporary, name)) {
    folder_->Remove(temporary);
    return Outcome::kFailed;
  }
  folder_->Sync();
  return Adopt(task.shard) ? Outcome::kCopied : Outcome::kFailed;
}

// Tries until the dataset's lock is held. Returns false if the stage ends before, or if the folder
// is gone.
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
  try {
    CopyUntilStopped();
  } catch (const std::bad_alloc&) {
    return;  // shards that are not copied are read where they are
  }
}

void ShardStage::CopyUntilStopped() {
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
