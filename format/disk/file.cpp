// MappedFile maps a file privately, since some file systems refuse shared mappings, and reads it
// into memory where files cannot be mapped at all. AtomicFile writes under a temporary name and
// renames the file when it is whole. With O_DIRECT it can write only whole aligned pieces, so it
// writes the last part of a file, and the whole file if the file system refuses O_DIRECT, through
// the page cache.
#include "format/disk/file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/shown_path.h>
#include <sluice/unmapped_note.h>

#include "format/disk/manifest.h"
#include "format/disk/system_error.h"

namespace sluice {

namespace {

[[noreturn]] void ThrowIo(const std::filesystem::path& path, const char* what, int error_number) {
  const ErrorCode code = error_number == ENOENT   ? ErrorCode::kNotFound
                         : error_number == ENOMEM ? ErrorCode::kMemory
                                                  : ErrorCode::kIo;
  throw SystemError(code, path.string(), std::string(what) + ": " + SystemErrorText(error_number),
                    error_number);
}

// Throws Error(kIo) if the file is not a regular one.
struct stat RegularFile(const FileHandle& file, const std::filesystem::path& path) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) ThrowIo(path, "cannot be examined", errno);
  if (!S_ISREG(info.st_mode)) throw Error(ErrorCode::kIo, path.string(), "is not a regular file");
  return info;
}

// Throws Error(kIo) if the file ends before `to` is full.
void ReadAll(const FileHandle& file, const std::filesystem::path& path, std::span<std::byte> to) {
  if (ReadAt(file, path, 0, to) < to.size()) {
    throw Error(ErrorCode::kIo, path.string(), "became shorter while being read");
  }
}

// Whether the error of mmap() says that the file system cannot map files at all.
bool CannotMap(int error_number) noexcept {
  return error_number == ENODEV || error_number == EINVAL || error_number == EOPNOTSUPP ||
         error_number == ENOSYS;
}

// Memory with the file's bytes, instead of a mapping; MAP_FAILED if there is not enough memory.
void* ReadIntoMemory(const FileHandle& file, const std::filesystem::path& path,
                     std::uint64_t size) {
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return memory;
  try {
    ReadAll(file, path, {static_cast<std::byte*>(memory), size});
  } catch (...) {
    munmap(memory, size);
    throw;
  }
  return memory;
}

// Makes a new file of this name. A file that is there already (a killed process may have left it)
// is removed and not opened: somebody else may have put it there, as a hard link to another file or
// as a named pipe, which would wait for a reader for ever. Nor is a symbolic link followed.
FileHandle MakeTemporary(const std::filesystem::path& path) {
  constexpr int kMaxTries = 100;  // another process may make the file again each time
  for (int tries = 0; tries < kMaxTries; ++tries) {
    FileHandle file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file) return file;
    if (errno != EEXIST) ThrowIo(path, "cannot be created", errno);
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) continue;
    if (S_ISLNK(info.st_mode))
      ThrowIo(path, "is a symbolic link, which is not followed; remove it", ELOOP);
    if (S_ISDIR(info.st_mode)) ThrowIo(path, "cannot be created", EISDIR);
    if (unlink(path.c_str()) != 0 && errno != ENOENT)
      ThrowIo(path, "is in the way and cannot be removed; remove it", errno);
  }
  ThrowIo(path, "cannot be created", EEXIST);
}

}  // namespace

std::string SystemErrorText(int error_number) {
  return std::error_code(error_number, std::generic_category()).message();
}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.Release();
  }
  return *this;
}

FileHandle::~FileHandle() {
  if (fd_ >= 0) close(fd_);
}

FileHandle OpenForReading(const std::filesystem::path& path) {
  // O_NONBLOCK so that a named pipe in a source folder cannot block; regular files ignore it.
  FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) ThrowIo(path, "cannot be opened", errno);
  return file;
}

std::uint64_t FileBytes(const FileHandle& file, const std::filesystem::path& path) {
  return static_cast<std::uint64_t>(RegularFile(file, path).st_size);
}

namespace {

// The bytes read until `to` is full or the file ends; nullopt, with errno, if that fails.
std::optional<std::size_t> ReadUpTo(const FileHandle& file, std::uint64_t offset,
                                    std::span<std::byte> to) noexcept {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got =
        pread(file.get(), to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

std::size_t ReadAt(const FileHandle& file, const std::filesystem::path& path, std::uint64_t offset,
                   std::span<std::byte> to) {
  const std::optional<std::size_t> done = ReadUpTo(file, offset, to);
  if (!done) ThrowIo(path, "cannot be read", errno);
  return *done;
}

bool ReadWhole(const FileHandle& file, std::uint64_t offset, std::span<std::byte> to) noexcept {
  return ReadUpTo(file, offset, to) == to.size();
}

bool WriteWhole(const FileHandle& file, std::uint64_t offset, Bytes bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

void ReadFile(const std::filesystem::path& path, std::uint64_t limit,
              std::vector<std::byte>& content) {
  const FileHandle file = OpenForReading(path);
  const std::uint64_t size = FileBytes(file, path);
  if (size > limit) {
    throw Error(ErrorCode::kLimit, path.string(),
                "has " + std::to_string(size) + " bytes, more than the " + std::to_string(limit) +
                    " allowed");
  }
  content.resize(size);
  ReadAll(file, path, content);
  if (FileBytes(file, path) != size) {
    throw Error(ErrorCode::kIo, path.string(), "changed its size while being read");
  }
}

bool MapsNoFiles(const std::filesystem::path& file) noexcept {
  // O_NONBLOCK: opening a named pipe would wait.
  const FileHandle open_file(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!open_file || fstat(open_file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  void* const page = mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, open_file.get(), 0);
  if (page != MAP_FAILED) munmap(page, 1);
  return page == MAP_FAILED && CannotMap(errno);
}

std::string UnmappedNote(const std::filesystem::path& dataset) {
  const std::filesystem::path folder = ManifestPlace::Of(dataset).folder;
  if (!MapsNoFiles(folder / kManifestName) && !MapsNoFiles(folder / kPlanName)) return {};
  return folder.string() +
         ": its file system cannot map files (mmap), so each process copies what it reads into its "
         "own memory: single blocks, and whole shards to resume or repair a conversion. To save "
         "this memory, move the dataset to a file system that can map files";
}

MappedFile::MappedFile(const FileHandle& file, std::filesystem::path path, MapAdvice advice)
    : path_(std::move(path)) {
  const struct stat info = RegularFile(file, path_);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  id_ = {info.st_dev, info.st_ino};
  if (size == 0) return;
  // Some file systems refuse MAP_SHARED (FUSE with direct_io). A mapping that is only read shows
  // the file's pages, and what others write to them, with MAP_PRIVATE as well.
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED && CannotMap(errno)) address = ReadIntoMemory(file, path_, size);
  if (address == MAP_FAILED) {
    ThrowIo(path_,
            errno == ENOMEM ? "cannot be mapped: this process has as many mappings as the system "
                              "allows (vm.max_map_count), or too little address space"
                            : "cannot be mapped",
            errno);
  }
  if (advice == MapAdvice::kPageByPage) madvise(address, size, MADV_RANDOM);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

bool MappedFile::Is(const struct stat& info) const noexcept {
  return FileId{info.st_dev, info.st_ino} == id_;
}

std::uint64_t MappedFile::BytesLeft() const noexcept {
  if (!mapped_here_) return bytes_.size();
  struct stat info {};
  const bool same = stat(path_.c_str(), &info) == 0 && Is(info);
  return same ? static_cast<std::uint64_t>(info.st_size) : bytes_.size();
}

bool MappedFile::Maps(const FileHandle& file) const noexcept {
  struct stat info {};
  return fstat(file.get(), &info) == 0 && Is(info);
}

std::optional<std::int64_t> MappedFile::WrittenAt() const noexcept {
  if (!mapped_here_) return std::nullopt;
  constexpr std::int64_t kSecond = 1'000'000'000;
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0 || !Is(info)) return std::nullopt;
  return info.st_mtim.tv_sec * kSecond + info.st_mtim.tv_nsec;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_here_, other.mapped_here_);
  std::swap(lost_, other.lost_);
  std::swap(path_, other.path_);
  std::swap(id_, other.id_);
  return *this;
}

MappedFile::~MappedFile() {
  if (mapped_here_ && !bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void AdviseInSteps(Bytes mapped, std::size_t step,
                   const std::function<void(void* start, std::size_t bytes)>& advise) {
  // The machine's pages may be larger than the format's.
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::byte* const data =
      mapped.data() - reinterpret_cast<std::uintptr_t>(mapped.data()) % page;
  const auto bytes = static_cast<std::size_t>(mapped.data() + mapped.size() - data);
  for (std::size_t done = 0; done < bytes; done += step)
    advise(const_cast<std::byte*>(data + done), std::min(step, bytes - done));
}

void AskFor(Bytes mapped) {
  // The kernel silently limits what one call of madvise() asks for to the device's read-ahead. A
  // call for this many bytes is whole on any usual device.
  constexpr std::size_t kAskBytes = std::size_t{128} << 10;
  AdviseInSteps(mapped, kAskBytes,
                [](void* start, std::size_t bytes) { madvise(start, bytes, MADV_WILLNEED); });
}

std::filesystem::path TemporaryName(const std::filesystem::path& path, const std::string& own) {
  std::string name = "." + path.filename().string();
  if (!own.empty()) name += "." + own;
  return path.parent_path() / (name += kTemporarySuffix);
}

std::string_view NameOfTemporary(std::string_view name) noexcept {
  if (!name.starts_with('.') || !name.ends_with(kTemporarySuffix)) return {};
  return name.substr(1, name.size() - 1 - kTemporarySuffix.size());
}

AtomicFile::AtomicFile(std::filesystem::path path, DirectBuffer* direct, const std::string& own)
    : path_(std::move(path)), temporary_(TemporaryName(path_, own)), direct_(direct) {
  file_ = MakeTemporary(temporary_);
  if (direct_ == nullptr || direct_->refused()) return;
  // O_DIRECT is not given to open(): some file systems create the file first and then refuse.
  past_cache_ = fcntl(file_.get(), F_SETFL, O_DIRECT) == 0;
  if (!past_cache_) direct_->Refuse();
}

AtomicFile::~AtomicFile() {
  if (file_) unlink(temporary_.c_str());
}

void AtomicFile::Write(Bytes bytes) {
  size_ += bytes.size();
  if (direct_ == nullptr) return Put(bytes);
  const std::span<std::byte> memory = direct_->memory();
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), memory.size() - waiting_);
    std::copy_n(bytes.begin(), part, memory.begin() + static_cast<std::ptrdiff_t>(waiting_));
    bytes = bytes.subspan(part);
    waiting_ += part;
    if (waiting_ < memory.size()) continue;
    Put(memory);
    waiting_ = 0;
  }
}

void AtomicFile::Put(Bytes bytes) {
  constexpr std::size_t kAlignment = DirectBuffer::kAlignment;
  while (!bytes.empty()) {
    // Unaligned bytes cannot go past the cache: the end of a file that is not a whole number of
    // pages, or the rest after a partial write.
    const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0;
    if (past_cache_ && (!aligned || bytes.size() < kAlignment)) GoThroughCache();
    const std::size_t part = past_cache_ ? bytes.size() / kAlignment * kAlignment : bytes.size();
    const ssize_t put = write(file_.get(), bytes.data(), part);
    if (put < 0 && errno == EINTR) continue;
    // The file system accepted O_DIRECT, but refuses such writes.
    if (put < 0 && errno == EINVAL && past_cache_) {
      direct_->Refuse();
      GoThroughCache();
      continue;
    }
    if (put < 0) ThrowIo(path_, "cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    put_ += static_cast<std::uint64_t>(put);
  }
  if (!past_cache_) StartWriteBack();
}

// Begins to write to the disk now, so that Commit() has less to wait for.
void AtomicFile::StartWriteBack() {
  constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;
  if (put_ - on_their_way_ < kPiece) return;
  // If the file system cannot do it, Commit() writes everything.
  sync_file_range(file_.get(), static_cast<off_t>(on_their_way_),
                  static_cast<off_t>(put_ - on_their_way_), SYNC_FILE_RANGE_WRITE);
  on_their_way_ = put_;
}

void AtomicFile::GoThroughCache() {
  past_cache_ = false;
  if (fcntl(file_.get(), F_SETFL, 0) != 0) ThrowIo(path_, "cannot be written", errno);
}

void AtomicFile::Commit(FolderSync folder) {
  if (direct_ != nullptr) Put(direct_->memory().first(waiting_));
  if (fsync(file_.get()) != 0) ThrowIo(path_, "cannot be synced to disk", errno);
  const int fd = file_.Release();
  if (close(fd) != 0) {
    const int error_number = errno;
    unlink(temporary_.c_str());
    ThrowIo(path_, "cannot be closed", error_number);
  }
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error_number = errno;
    unlink(temporary_.c_str());
    ThrowIo(path_, "cannot be renamed to its final name", error_number);
  }
  if (folder == FolderSync::kNow) SyncFolder(path_.parent_path());
}

void WriteFile(const std::filesystem::path& path, Bytes content, DirectBuffer* direct,
               const std::string& own) {
  AtomicFile file(path, direct, own);
  file.Write(content);
  file.Commit();
}

void CreateFolder(const std::filesystem::path& path) {
  if (IsStoreUrl(path.native())) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "is a URL; give a folder of this machine");
  }
  bool made = mkdir(path.c_str(), 0777) == 0;
  if (!made && errno == ENOENT && path.has_parent_path() && path.parent_path() != path) {
    CreateFolder(path.parent_path());
    made = mkdir(path.c_str(), 0777) == 0;
  }
  const int error_number = errno;
  std::error_code ignored;
  if (!made && (error_number != EEXIST || !std::filesystem::is_directory(path, ignored))) {
    ThrowIo(path, "the folder cannot be created", error_number);
  }
  std::filesystem::path full = std::filesystem::absolute(path).lexically_normal();
  if (!full.has_filename()) full = full.parent_path();  // "data/" is "data"
  // An existing folder may come from a process that was killed before it synced the parent folder;
  // but the parent may also be unreadable for this user.
  if (made || access(full.parent_path().c_str(), R_OK) == 0) SyncFolder(full.parent_path());
}

void SyncFolder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.empty() ? "." : path;
  const FileHandle handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle) ThrowIo(folder, "the folder cannot be opened", errno);
  // Some file systems cannot sync a folder and say so with EINVAL; they order renames themselves.
  if (fsync(handle.get()) != 0 && errno != EINVAL) {
    ThrowIo(folder, "the folder cannot be synced to disk", errno);
  }
}

}  // namespace sluice
