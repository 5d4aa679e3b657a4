// Where the pieces of a remote dataset lie: a sparse mapping, in memory or in a folder, and its
// spare pages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format/disk/file.h"
#include "format/disk/file_lock.h"
#include "format/disk/read_guard.h"
#include "format/disk/shared_folder.h"
#include "format/mutex.h"
#include "format/remote/cache/cache_folder.h"

namespace sluice {

// Reuses the memory of evicted pieces for new pieces.
//
// The memory is one anonymous mapping, in which each piece has its place. To provide a fresh page
// costs the kernel five times as much as to copy one. So the pages of an evicted piece stay where
// they are, and are later moved (mremap) to the place of a new piece of that size or smaller.
// Thread-safe.
class SparePages {
 public:
  // The smallest range to keep. Smaller ones are not worth the calls, and each takes one of the
  // process's mappings.
  static constexpr std::uint64_t kLeast = std::uint64_t{128} << 10;

  // Keeps at most `most` bytes, until SetMost() changes that. The mapping must outlive this object.
  SparePages(std::byte* mapping, std::uint64_t most) : mapping_(mapping), most_(most) {}
  void SetMost(std::uint64_t most) noexcept;

  // Keeps whole pages that are not used any more. Returns false if they were returned to the system
  // instead.
  bool Keep(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // Moves kept pages, with whatever they contain, into this range. Returns false if no kept pages
  // fit.
  bool Give(std::uint64_t offset, std::uint64_t bytes) noexcept;

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;  // bytes by offset
  bool Note(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void Remove(Ranges::iterator range) REQUIRES(mutex_);
  bool TakeBack(std::uint64_t offset, std::uint64_t bytes) REQUIRES(mutex_);
  void Drop(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  bool Move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const noexcept;

  std::byte* const mapping_;
  Mutex mutex_;
  std::uint64_t most_ GUARDED_BY(mutex_);
  Ranges ranges_ GUARDED_BY(mutex_);                                        // the kept pages
  std::multimap<std::uint64_t, std::uint64_t> by_size_ GUARDED_BY(mutex_);  // offsets by bytes
  std::uint64_t kept_ GUARDED_BY(mutex_) = 0;                               // bytes of all ranges
};

// A sparse file with the fetched pieces of a dataset's shards, mapped as a whole, and a table of
// the pieces that are there. Both lie in memory, or in a folder that processes share (CACHE.md).
//
// In memory, the mapping is anonymous, because each page of a file in memory costs the kernel twice
// as much. A file in memory is used only where the system allows too little anonymous memory.
//
// In a folder, other processes change the table meanwhile, through shared memory. A process locks
// each piece that it reads or changes; the kernel releases the lock if the process dies.
class SparseData {
 public:
  // Keeps the data in memory, where up to `spare` bytes are kept for further pieces, until
  // SetSpare() changes that.
  SparseData(std::uint64_t bytes, std::uint64_t pieces, std::uint64_t spare);
  // Keeps the data in a subfolder, shared with other processes that use these shards there: see
  // CacheFolderOf(). If the folder is not writable, its pieces can still be read. Throws Error;
  // SystemError(EWOULDBLOCK) if another process keeps the folder locked.
  SparseData(const std::filesystem::path& folder, const CachedShards& shards);
  ~SparseData();
  SparseData(const SparseData&) = delete;
  SparseData& operator=(const SparseData&) = delete;

  Bytes bytes() const noexcept { return {data_, bytes_}; }
  bool shared() const noexcept { return !folder_.empty(); }
  // If false, pieces can be found, locked shared and overlaid, but not fetched into their place or
  // dropped.
  bool writable() const noexcept { return writable_; }
  // The cache's folder. Call it only if the data lies in one.
  const SharedFolder& root() const noexcept { return *root_; }
  std::string name() const { return folder_.filename().string(); }  // of the subfolder
  // At least those of the shards; more if the folder keeps further shards.
  std::uint64_t pieces() const noexcept { return pieces_; }

  // A piece that is there: its place, and the hash of its bytes.
  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t hash = 0;  // 0 in memory, where no comparison is needed
  };
  std::optional<Piece> Find(std::uint64_t piece) const noexcept;
  void Note(std::uint64_t piece, const Piece& there) noexcept;
  // Notes that the piece is not there any more, then frees its bytes.
  void Drop(std::uint64_t piece) noexcept;

  // When a piece will be needed next. The piece with the largest value is evicted first; 0: never
  // evict it.
  std::atomic<std::uint64_t>& next_use(std::uint64_t piece) const noexcept {
    return next_use_[piece * next_use_stride_];
  }
  const std::atomic<std::uint64_t>* next_uses() const noexcept { return next_use_; }
  std::size_t next_use_stride() const noexcept { return next_use_stride_; }
  // Bytes of all pieces that any process has fetched or is fetching.
  std::atomic<std::uint64_t>& used() const noexcept { return head_->used; }

  // Locks a piece, changes the lock, or releases it. Returns false if another process holds a
  // conflicting lock.
  bool Lock(std::uint64_t piece, FileHold hold) noexcept;
  // Whether a shared lock prevents an exclusive one. Every process that can read the table can take
  // a shared lock; an exclusive lock needs write permission.
  bool IsLockedShared(std::uint64_t piece) const noexcept;

  // Reserves room on the disk for a range. Returns false if that fails: usually the disk is full.
  bool Allocate(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void Free(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // Allocates memory for a piece that is written next, so that writing causes no page faults.
  void Prepare(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void SetSpare(std::uint64_t bytes) noexcept {
    if (spare_) spare_->SetMost(bytes);
  }
  // Throws SystemError.
  void Write(std::uint64_t offset, Bytes bytes);
  // Overlay() replaces these whole pages of the mapping by private memory; EndOverlay() maps the
  // file again. Overlay() returns false if memory has run out.
  bool Overlay(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void EndOverlay(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // Like Overlay(), but the private memory begins as a copy of the current bytes, with `part` at
  // `at`. Readers see either the old bytes or the new ones.
  bool OverlayCopy(std::uint64_t offset, std::uint64_t bytes, std::uint64_t at,
                   Bytes part) noexcept;
  std::byte* overlay(std::uint64_t offset) noexcept { return data_ + offset; }

  // Bytes of disk or memory that are allocated now.
  std::uint64_t allocated() const;

  // The head of the table.
  struct Head {
    char magic[8];
    std::uint32_t version;
    std::uint32_t zero;
    std::uint64_t pieces;
    std::uint64_t bytes;              // size of the data: all shards together
    std::atomic<std::uint64_t> used;  // as SparseData::used()
  };

 private:
  // One record after another, so that the table of more shards begins with that of fewer.
  struct Record {
    std::atomic<std::uint64_t> next_use;
    struct There {
      std::uint64_t offset;
      std::uint64_t bytes;
      std::uint64_t hash;
      std::uint64_t check;  // over the members above and the piece's number; 0: not there
    } there;
  };
  static_assert(sizeof(Record) == 40);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static std::uint64_t CheckOf(std::uint64_t piece, const Record::There& record) noexcept;
  std::uint64_t TableBytes() const noexcept;
  void OpenForWriting(const CachedShards& shards);
  bool OpenForReading(const CachedShards& shards);
  void Grow(const FileHandle& list, const CachedShards& shards);
  void MapAnonymous(std::uint64_t spare);
  void Map();
  bool Fits() const;
  void Recount(std::uint64_t own_pieces);

  std::optional<SharedFolder> root_;
  std::filesystem::path folder_;
  bool writable_ = true;
  std::uint64_t bytes_ = 0;
  std::uint64_t pieces_ = 0;
  FileHandle in_use_;  // the dataset's lock, held shared
  FileHandle file_;    // empty: anonymous memory
  FileHandle table_file_;
  std::byte* data_ = nullptr;
  std::optional<SparePages> spare_;  // spare pages of anonymous memory
  std::byte* table_ = nullptr;
  // If another program truncates the table, the pieces in the lost part count as not there.
  LostPages lost_table_;
  std::optional<LastingGuard> table_guard_;
  Head* head_ = nullptr;
  std::atomic<std::uint64_t>* next_use_ = nullptr;
  std::size_t next_use_stride_ = sizeof(Record) / sizeof(std::uint64_t);
  std::vector<std::atomic<std::uint64_t>> own_next_use_;  // used if the table is not writable
  Record* records_ = nullptr;
};

}  // namespace sluice
