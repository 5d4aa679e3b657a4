// Files: reading whole ones, mapping them, and writing them so that a crash leaves either the old
// state or the new one. Every failure is an Error that names the file: kNotFound if the file or a
// folder on the way to it does not exist, kMemory if the process lacks memory or mappings, another
// code where a comment below names it, and otherwise kIo.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "format/disk/bytes.h"
#include "format/disk/read_guard.h"

struct stat;

namespace sluice {

class DirectBuffer;

// An open file descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) noexcept : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(other.Release()) {}
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle();

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int Release() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

FileHandle OpenForReading(const std::filesystem::path& path);

// The size of an open regular file; `path` is for messages, here and in ReadAt().
std::uint64_t FileBytes(const FileHandle& file, const std::filesystem::path& path);

// Reads from `offset` on until `to` is full or the file ends; returns the bytes read.
std::size_t ReadAt(const FileHandle& file, const std::filesystem::path& path, std::uint64_t offset,
                   std::span<std::byte> to);
// False if the file cannot be read there, or ends before `to` is full.
bool ReadWhole(const FileHandle& file, std::uint64_t offset, std::span<std::byte> to) noexcept;
// Writes all bytes at `offset`. False, with errno, if that fails.
bool WriteWhole(const FileHandle& file, std::uint64_t offset, Bytes bytes) noexcept;

// Reads a regular file of at most `limit` bytes (else Error(kLimit)) into `content`, whose memory
// is reused. A short read, or a file that changes its size meanwhile, is an error.
void ReadFile(const std::filesystem::path& path, std::uint64_t limit,
              std::vector<std::byte>& content);

// When a page is touched, the kernel reads its neighbours, too (kNormal), or only that page
// (kPageByPage).
enum class MapAdvice { kNormal, kPageByPage };

// Identifies a file, whichever of its names was used.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // its number on the device
  friend auto operator<=>(const FileId&, const FileId&) = default;
};

// Whether `file` is a regular file on a file system that cannot map files.
bool MapsNoFiles(const std::filesystem::path& file) noexcept;

// A regular file mapped read-only, whole. Where files cannot be mapped, it is read into memory. If
// the file may be cut short or the disk may fail meanwhile, read it under a Guard(), and use the
// bytes only if they are not Lost() afterwards.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path, MapAdvice advice = MapAdvice::kNormal)
      : MappedFile(OpenForReading(path), path, advice) {}
  // An open file; `path`: the name it was opened by.
  MappedFile(const FileHandle& file, std::filesystem::path path, MapAdvice advice);
  // Bytes that the caller has mapped, and keeps mapped while this lives. They count as never cut:
  // BytesLeft() is their size, and WrittenAt() is nullopt.
  explicit MappedFile(Bytes mapped) noexcept : bytes_(mapped), mapped_here_(false) {}
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const noexcept { return bytes_; }

  ReadGuard Guard() const noexcept { return {bytes_, *lost_}; }
  bool Lost(Bytes range) const noexcept { return lost_->Any() && lost_->Touch(range); }
  bool LostAny() const noexcept { return lost_->Any(); }
  // The mapping, as an entry of the list that a ReadGuard takes.
  GuardedMapping guarded() const noexcept { return {bytes_, lost_.get()}; }

  // The present size of the file. If the file was removed or replaced since it was opened, returns
  // the mapped size, because the mapping still has the old file. (A read after a cut does not
  // always raise SIGBUS: the rest of the page in which the file now ends reads as zeros.)
  std::uint64_t BytesLeft() const noexcept;

  FileId id() const noexcept { return id_; }
  // Whether an open file is the same file as the mapped one.
  bool Maps(const FileHandle& file) const noexcept;
  // When the file was last written to, in nanoseconds of its file system's clock; nullopt if its
  // name is gone or belongs to another file now. Asks the file system.
  std::optional<std::int64_t> WrittenAt() const noexcept;

 private:
  bool Is(const struct stat& info) const noexcept;

  Bytes bytes_;
  bool mapped_here_ = true;
  std::unique_ptr<LostPages> lost_ = std::make_unique<LostPages>();
  std::filesystem::path path_;
  FileId id_;
};

// Calls advise(start, bytes), for madvise(), for one part of a mapping after the other, each of at
// most `step` bytes. Begins with the whole page in which `mapped` begins, as madvise() needs.
void AdviseInSteps(Bytes mapped, std::size_t step,
                   const std::function<void(void* start, std::size_t bytes)>& advise);
// Makes the kernel begin to read exactly these bytes of a mapping, and does not wait. On a page
// fault, it would also read what lies around them, as far as the device's read-ahead reaches (8 MiB
// on some machines).
void AskFor(Bytes mapped);

// Whether Commit() syncs the folder of a new file. A caller that makes many files can instead sync
// the folder once, before anything refers to them; this halves the cost of a small file.
enum class FolderSync { kNow, kByCaller };

// A new file, written from its beginning to its end under a temporary name. Write-back to the disk
// begins before the file is whole. Commit() syncs the file, renames it to its real name, replacing
// any file there, and syncs the folder. Without Commit() the temporary file is removed.
class AtomicFile {
 public:
  // With `direct`, writes go past the page cache, in pieces of that buffer's size. The buffer must
  // outlive the file and serves one file at a time. Writes that the file system refuses go through
  // the page cache: see DirectBuffer::refused().
  // `own`: a part of the temporary name, to be different in each process if several may write the
  // same file at once.
  explicit AtomicFile(std::filesystem::path path, DirectBuffer* direct = nullptr,
                      const std::string& own = {});
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void Write(Bytes bytes);
  void Commit(FolderSync folder = FolderSync::kNow);
  // Bytes given to Write().
  std::uint64_t size() const noexcept { return size_; }

 private:
  void Put(Bytes bytes);
  void GoThroughCache();
  void StartWriteBack();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileHandle file_;
  std::uint64_t size_ = 0;
  DirectBuffer* direct_;
  std::size_t waiting_ = 0;         // bytes in the buffer
  bool past_cache_ = false;         // the file takes aligned writes only
  std::uint64_t put_ = 0;           // bytes in the file
  std::uint64_t on_their_way_ = 0;  // of these, bytes that the kernel was told to write to disk
};

inline constexpr std::string_view kTemporarySuffix = ".tmp";

// Writes a whole file atomically; `direct` and `own` as for AtomicFile.
void WriteFile(const std::filesystem::path& path, Bytes content, DirectBuffer* direct = nullptr,
               const std::string& own = {});

// Creates a folder and its missing parents, durably. Throws Error(kInvalidArgument) for a URL.
void CreateFolder(const std::filesystem::path& path);

void SyncFolder(const std::filesystem::path& path);

// The system's text for an errno, such as "No space left on device".
std::string SystemErrorText(int error_number);

// Makes the path absolute and changes nothing else. Returns it as given if it is empty or the
// working directory is gone.
inline std::filesystem::path AbsolutePath(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error || path.empty() ? path : absolute;
}

// The name that a file has until it is whole: "data/.shard-00000.sluice.tmp".
//
// It begins with a dot, as no name in a manifest does. So no shard can have such a name, and a file
// that has one is unfinished, or was left by a process that was killed. `own`: as for AtomicFile.
std::filesystem::path TemporaryName(const std::filesystem::path& path, const std::string& own = {});

// The name that a file gets in the place of its temporary name `name` (without folders), such as
// "shard-00000.sluice". If the temporary name was made with `own`, then "." and `own` follow. Empty
// if `name` is not a temporary name.
std::string_view NameOfTemporary(std::string_view name) noexcept;

// A buffer from which files are written past the page cache (O_DIRECT), reused from file to file.
// It also remembers whether the file system has refused such writes.
class DirectBuffer {
 public:
  // The alignment of addresses, offsets and sizes: no file system needs more than a page.
  static constexpr std::size_t kAlignment = 4096;
  // The size of a write: large enough for a disk's full speed, and so small that encoding threads
  // still have room for their output until the write has ended.
  static constexpr std::size_t kBytes = 1 << 20;

  std::span<std::byte> memory() const noexcept { return {memory_.get(), kBytes}; }

  // Whether a file system has refused an aligned write. Files are then written through the page
  // cache.
  bool refused() const noexcept { return refused_; }
  void Refuse() noexcept { refused_ = true; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<std::byte, Free> memory_{
      static_cast<std::byte*>(::operator new (kBytes, std::align_val_t{kAlignment}))};
  bool refused_ = false;
};

}  // namespace sluice
