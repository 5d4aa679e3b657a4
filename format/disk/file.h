// Files: reading whole ones, mapping them, and writing them so that a crash leaves either the old
// state or the new one. Every failure is an Error(kIo) that names the file.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

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

// Throws Error(kNotFound) if it does not exist.
FileHandle OpenForReading(const std::filesystem::path& path);

// Reads a regular file of at most `limit` bytes (Error(kLimit) beyond) into `content`, whose memory
// is used again. Short reads and files that change their size meanwhile are errors.
void ReadFile(const std::filesystem::path& path, std::uint64_t limit,
              std::vector<std::byte>& content);

// Whether the kernel reads what lies around a page that is touched, or that page alone.
enum class MapAdvice { kNormal, kPageByPage };

// Which file it is, whatever the names are that lead to it.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // its number there
  friend auto operator<=>(const FileId&, const FileId&) = default;
};

// A regular file mapped read-only, whole. What may be cut short or fail to be read meanwhile is
// read under a Guard(), and used if it is not Lost() then.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path, MapAdvice advice = MapAdvice::kNormal);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const noexcept { return bytes_; }

  ReadGuard Guard() const noexcept { return {bytes_, *lost_}; }
  bool Lost(Bytes range) const noexcept { return lost_->Any() && lost_->Touch(range); }

  // Bytes that the file, by the name it was opened by, has now; those that were mapped, if another
  // file has the name or none: what is mapped stays as it was then. Zeros come without a signal
  // from the last page of a file that was cut.
  std::uint64_t BytesLeft() const noexcept;

  FileId id() const noexcept { return id_; }
  // Whether an open file is the very one that is mapped.
  bool Maps(const FileHandle& file) const noexcept;
  // When the file was last written to, in nanoseconds of its file system's clock; none if another
  // file has its name by now, or none has. Asks the file system.
  std::optional<std::int64_t> WrittenAt() const noexcept;

 private:
  bool Is(const struct stat& info) const noexcept;

  Bytes bytes_;
  std::unique_ptr<LostPages> lost_ = std::make_unique<LostPages>();
  std::filesystem::path path_;
  FileId id_;
};

// A new file, written from its beginning to its end under a temporary name. It takes its real name
// in Commit(), which syncs the file, renames it over whatever had that name, and syncs the folder.
// Without Commit() the temporary file is removed.
class AtomicFile {
 public:
  // With `direct`, everything goes past the page cache, in pieces of that memory's size; it
  // outlives the file and serves one at a time. What a file system does not take that way goes
  // through its cache: see DirectBuffer::refused().
  explicit AtomicFile(std::filesystem::path path, DirectBuffer* direct = nullptr);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void Write(Bytes bytes);
  void Commit();
  // Bytes given to Write().
  std::uint64_t size() const noexcept { return size_; }

 private:
  void Put(Bytes bytes);
  void GoThroughCache();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileHandle file_;
  std::uint64_t size_ = 0;
  DirectBuffer* direct_;
  std::size_t waiting_ = 0;  // bytes in its memory
  bool past_cache_ = false;  // the file takes aligned writes only
};

inline constexpr std::string_view kTemporarySuffix = ".tmp";

// Writes a whole file atomically; `direct` as above.
void WriteFile(const std::filesystem::path& path, Bytes content, DirectBuffer* direct = nullptr);

// Creates a folder, and those it lies in, where they are not there, and makes that durable.
void CreateFolder(const std::filesystem::path& path);

void SyncFolder(const std::filesystem::path& path);

// "No space left on device" and the like.
std::string SystemErrorText(int error_number);

}  // namespace sluice
