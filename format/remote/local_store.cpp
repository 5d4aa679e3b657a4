// If a read is being served, Cancel() waits until that has ended, so that the read's functions are
// not called afterwards. A read's functions are called by one thread, so its bytes come in order;
// the functions of different reads are called at the same time.
// Threads are started one by one, only when more reads wait than threads exist, up to the limit.
#include "format/remote/local_store.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "format/disk/system_error.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void Fail(const std::string& name, const char* what) {
  throw SystemError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, name,
                    std::string(what) + ": " + SystemErrorText(errno), errno);
}

ObjectInfo InfoOf(const FileHandle& file, const std::string& name) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) Fail(name, "cannot be examined");
  if (!S_ISREG(info.st_mode)) throw Error(ErrorCode::kIo, name, "is not a regular file");
  // The second value is the etag. A file that is replaced, even by one of the same size in the same
  // second, has another inode number or another modification time.
  return {static_cast<std::uint64_t>(info.st_size),
          std::to_string(info.st_ino) + "-" + std::to_string(info.st_size) + "-" +
              std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec),
          std::max(info.st_mtim.tv_sec, info.st_ctim.tv_sec)};
}

}  // namespace

LocalStore::LocalStore(const fs::path& folder, std::size_t threads)
    : url_(folder.string()), folder_(AbsolutePath(folder)), max_threads_(threads) {
  threads_.emplace_back([this] { Run(); });
}

LocalStore::~LocalStore() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_)
    thread.join();
}

fs::path LocalStore::PathOf(std::string_view object) const {
  return folder_ / fs::path(object);
}

std::vector<std::byte> LocalStore::Get(std::string_view object, std::uint64_t limit,
                                       ObjectInfo* info) {
  const fs::path path = PathOf(object);
  if (info != nullptr) *info = InfoOf(OpenForReading(path), path.string());
  std::vector<std::byte> content;
  ReadFile(path, limit, content);
  const MutexLock lock(mutex_);
  ++counts_.requests;
  counts_.bytes += content.size();
  return content;
}

ObjectInfo LocalStore::Head(std::string_view object) {
  const fs::path path = PathOf(object);
  {
    const MutexLock lock(mutex_);
    ++counts_.requests;
  }
  return InfoOf(OpenForReading(path), path.string());
}

std::uint64_t LocalStore::Read(RangeRead read) {
  std::uint64_t ticket = 0;
  {
    const MutexLock lock(mutex_);
    ticket = ++tickets_;
    // Behind all reads that are at least as urgent: reads of one urgency are served in their order.
    const auto after = std::find_if(queue_.begin(), queue_.end(), [&read](const Asked& other) {
      return other.read.urgency > read.urgency;
    });
    queue_.insert(after, Asked{ticket, std::move(read)});
    if (serving_.size() + queue_.size() > threads_.size() && threads_.size() < max_threads_) {
      try {
        threads_.emplace_back([this] { Run(); });
      } catch (const std::exception&) {
        // The system has no further thread, or no memory for one: the read waits longer.
      }
    }
  }
  changed_.NotifyAll();
  return ticket;
}

void LocalStore::Cancel(std::uint64_t ticket) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(queue_.begin(), queue_.end(),
                                  [ticket](const Asked& asked) { return asked.ticket == ticket; });
  if (found != queue_.end()) queue_.erase(found);
  // Serve() looks at this before each piece, so the wait below is short.
  if (const auto served = serving_.find(ticket); served != serving_.end()) served->second = true;
  while (serving_.count(ticket) != 0)
    changed_.Wait(mutex_);
}

bool LocalStore::Cancelled(std::uint64_t ticket) const {
  const MutexLock lock(mutex_);
  return stopping_ || serving_.at(ticket);
}

void LocalStore::Run() {
  const MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && queue_.empty())
      changed_.Wait(mutex_);
    if (stopping_) return;
    const Asked asked = std::move(queue_.front());
    queue_.pop_front();
    serving_.emplace(asked.ticket, false);
    ++counts_.requests;
    {
      // Without the lock: reading takes long, and calls functions of the read's caller.
      const MutexUnlock unlocked(mutex_);
      Serve(asked);
    }
    serving_.erase(asked.ticket);
    changed_.NotifyAll();
  }
}

void LocalStore::Serve(const Asked& asked) {
  const RangeRead& read = asked.read;
  try {
    const fs::path path = PathOf(read.object);
    const FileHandle file = OpenForReading(path);
    posix_fadvise(file.get(), 0, 0,
                  POSIX_FADV_RANDOM);  // the kernel need not read beyond the range
    const ObjectInfo info = InfoOf(file, path.string());
    if (!read.etag.empty() && read.etag != info.etag) {
      throw Error(ErrorCode::kIo, path.string(), "was replaced while it was being read");
    }
    if (read.info != nullptr) *read.info = info;
    std::vector<std::byte> buffer(std::min<std::uint64_t>(kPieceBytes, read.bytes));
    for (std::uint64_t done = 0; done < read.bytes;) {
      if (Cancelled(asked.ticket)) return;
      const std::size_t part = std::min<std::uint64_t>(buffer.size(), read.bytes - done);
      const std::size_t got = ReadAt(file, path, read.offset + done, std::span(buffer).first(part));
      if (got < part) {
        throw Error(ErrorCode::kIo, path.string(), "ends before the bytes that were asked for");
      }
      {
        const MutexLock lock(mutex_);
        counts_.bytes += got;
      }
      read.take(Bytes(buffer).first(got));
      done += got;
    }
    // After a Cancel(), done() is not called: what it refers to may be gone as soon as Cancel()
    // returns.
    if (!Cancelled(asked.ticket)) read.done(nullptr);
  } catch (const Error& error) {
    if (!Cancelled(asked.ticket)) read.done(&error);
  } catch (const std::bad_alloc&) {
    if (!Cancelled(asked.ticket)) read.done(&OutOfMemory());
  }
}

void LocalStore::Put(std::string_view object, Bytes content, bool only_new) {
  std::error_code ignored;
  if (only_new && fs::exists(PathOf(object), ignored)) {
    throw Error(ErrorCode::kExists, PathOf(object).string(), "is there already");
  }
  PutLarge(object, content.size(), [&](std::uint64_t offset, std::span<std::byte> buffer) {
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset), buffer.size(),
                buffer.begin());
  });
}

void LocalStore::PutLarge(std::string_view object, std::uint64_t bytes, const Fill& fill) {
  const fs::path path = PathOf(object);
  CreateFolder(path.parent_path());
  AtomicFile file(path);
  std::vector<std::byte> buffer(std::min<std::uint64_t>(kPieceBytes, bytes));
  for (std::uint64_t done = 0; done < bytes;) {
    const std::size_t part = std::min<std::uint64_t>(buffer.size(), bytes - done);
    fill(done, std::span(buffer).first(part));
    file.Write(Bytes(buffer).first(part));
    done += part;
  }
  file.Commit();
}

void LocalStore::Remove(std::string_view object) {
  std::error_code error;
  fs::remove(PathOf(object), error);
  if (error) {
    throw Error(ErrorCode::kIo, PathOf(object).string(), "cannot be removed: " + error.message());
  }
}

std::vector<std::string> LocalStore::ListFolder(std::string_view folder, const Each& each) {
  std::set<std::string> folders;
  List(folder, [&](std::string_view object, const ObjectInfo& info) {
    const std::size_t slash = object.find('/', folder.size());
    if (slash == std::string_view::npos) return each(object, info);
    folders.emplace(object.substr(0, slash + 1));
  });
  return {folders.begin(), folders.end()};
}

void LocalStore::List(std::string_view prefix, const Each& each) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = fs::relative(at->path(), folder_).string();
    if (at->is_regular_file() && name.starts_with(prefix)) names.push_back(std::move(name));
  }
  if (error) {
    throw Error(ErrorCode::kIo, folder_.string(), "cannot be listed: " + error.message());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    each(name, InfoOf(OpenForReading(PathOf(name)), name));
}

ObjectStore::Counts LocalStore::counts() const noexcept {
  const MutexLock lock(mutex_);
  return counts_;
}

void ObjectStore::Replace(std::string_view /*object*/, Bytes /*content*/,
                          const std::string& /*etag*/) {
  throw Error(ErrorCode::kUnsupported, url(), "has no requests that compare ETags");
}

bool ObjectStore::ComparesEtags() {
  return false;
}

std::shared_ptr<ObjectStore> StoreIfUnmappable(const fs::path& dataset) {
  return MapsNoFiles(dataset / kManifestName) ? std::make_shared<LocalStore>(dataset) : nullptr;
}

}  // namespace sluice
