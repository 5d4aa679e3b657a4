// Where the pieces of a remote dataset lie: a sparse mapping, in memory or in a folder, and the
// pages that it has to spare.
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
#include "format/disk/read_guard.h"
#include "format/disk/shared_folder.h"
#include "format/mutex.h"

namespace sluice {

// Memory of pieces that were given up, for pieces that come.
//
// All lies in one anonymous mapping, in which each piece has its place. A fresh page costs the
// kernel five times a copy of its bytes, so the pages of a piece that is given up stay where they
// are, and are moved (mremap) to the place of a new one of that size or smaller. Thread-safe.
class SparePages {
 public:
  // Smaller ranges are not worth the calls, and each takes one of the process's mappings.
  static constexpr std::uint64_t kLeast = std::uint64_t{128} << 10;

  // Keeps `most` bytes at most, until SetMost(). The mapping must outlive it.
  SparePages(std::byte* mapping, std::uint64_t most) : mapping_(mapping), most_(most) {}
  void SetMost(std::uint64_t most) noexcept;

  // Whole pages, which are not used any more. False: they are not kept, but given to the system.
  bool Keep(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // Puts kept pages, with whatever they hold, in the place of these. False: no kept pages fit.
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
  Ranges ranges_ GUARDED_BY(mutex_);
  std::multimap<std::uint64_t, std::uint64_t> by_size_ GUARDED_BY(mutex_);  // offsets by bytes
  std::uint64_t kept_ GUARDED_BY(mutex_) = 0;
};

// A sparse file that holds what has been fetched of a dataset's shards, mapped whole, and the table
// of which pieces are there: in memory, or in a folder that processes share (CACHE.md).
//
// In memory, it is anonymous, because each page of a file in memory costs the kernel twice as much.
// Only where the system allows too little anonymous memory, it is such a file.
//
// The table is shared memory that other processes change meanwhile. A process that reads or changes
// a piece in a folder has its lock, which the kernel releases if the process dies.
class SparseData {
 public:
  // In memory, of which up to `spare` bytes are kept for further pieces, until SetSpare().
  SparseData(std::uint64_t bytes, std::uint64_t pieces, std::uint64_t spare);
  // In FOLDER/ID. Others that use the same dataset there share it. If the folder cannot be written
  // to, its pieces can still be read. Throws Error; SystemError(EWOULDBLOCK) if another process
  // keeps it locked.
  SparseData(const std::filesystem::path& folder, const std::string& id, std::uint64_t bytes,
             std::uint64_t pieces);
  ~SparseData();
  SparseData(const SparseData&) = delete;
  SparseData& operator=(const SparseData&) = delete;

  Bytes bytes() const noexcept { return {data_, bytes_}; }
  bool shared() const noexcept { return !folder_.empty(); }
  // False: Find() and Lock(kShared) work, and nothing else that concerns a piece.
  bool writable() const noexcept { return writable_; }
  // The folder, if it is in one.
  const SharedFolder& root() const noexcept { return *root_; }
  std::uint64_t pieces() const noexcept { return pieces_; }

  // A piece that is there: where, and the hash of its bytes; empty if it is not.
  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t hash = 0;  // 0 in memory, where nothing has to be compared
  };
  std::optional<Piece> Find(std::uint64_t piece) const noexcept;
  void Note(std::uint64_t piece, const Piece& there) noexcept;
  // Notes that it is not there, then frees its bytes.
  void Drop(std::uint64_t piece) noexcept;

  // When a piece will be needed next: the largest is given up first. 0: never give it up.
  std::atomic<std::uint64_t>& next_use(std::uint64_t piece) const noexcept {
    return next_use_[piece];
  }
  const std::atomic<std::uint64_t>* next_uses() const noexcept { return next_use_; }
  // Bytes of all pieces that are there or being fetched, by any process.
  std::atomic<std::uint64_t>& used() const noexcept { return head_->used; }

  enum class Hold { kNone, kShared, kExclusive };
  // Locks a piece, changes the lock, or releases it. False if another process holds it.
  bool Lock(std::uint64_t piece, Hold hold) noexcept;
  // Whether a shared lock is in the way of an exclusive one. Every process that can read the table
  // can take a shared lock; an exclusive one needs the right to write.
  bool IsLockedShared(std::uint64_t piece) const noexcept;

  // False if the disk has no room.
  bool Allocate(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void Free(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // Has memory ready for a piece, which is written next, so that writing takes no page fault.
  void Prepare(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void SetSpare(std::uint64_t bytes) noexcept {
    if (spare_) spare_->SetMost(bytes);
  }
  // Throws SystemError.
  void Write(std::uint64_t offset, Bytes bytes);
  // Overlay() puts memory of this process in the place of these whole pages of the mapping;
  // EndOverlay() puts the file back. Overlay() returns false if memory has run out.
  bool Overlay(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void EndOverlay(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // The same as Overlay(), but with a copy of the bytes that are there, in which `part` replaces
  // those at `at`. Readers see either the old bytes or the new ones.
  bool OverlayCopy(std::uint64_t offset, std::uint64_t bytes, std::uint64_t at,
                   Bytes part) noexcept;
  std::byte* overlay(std::uint64_t offset) noexcept { return data_ + offset; }

  // Bytes of disk or memory taken now.
  std::uint64_t allocated() const;

  // The beginning of the table.
  struct Head {
    char magic[8];
    std::uint32_t version;
    std::uint32_t zero;
    std::uint64_t pieces;
    std::uint64_t bytes;
    std::atomic<std::uint64_t> used;
  };

 private:
  struct Record {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t hash;
    std::uint64_t check;  // of these and the number; 0: not there
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static std::uint64_t CheckOf(std::uint64_t piece, const Record& record) noexcept;
  std::uint64_t TableBytes() const noexcept;
  void OpenForWriting(const std::string& id);
  bool OpenForReading(const std::string& id);
  void MakeTable();
  void MapAnonymous(std::uint64_t spare);
  void Map();
  bool Fits() const;
  void Recount();

  std::optional<SharedFolder> root_;
  std::filesystem::path folder_;
  bool writable_ = true;
  const std::uint64_t bytes_;
  const std::uint64_t pieces_;
  FileHandle in_use_;  // the dataset's lock, shared
  FileHandle file_;    // none: anonymous memory
  FileHandle table_file_;
  std::byte* data_ = nullptr;
  std::optional<SparePages> spare_;  // of anonymous memory
  std::byte* table_ = nullptr;
  // If somebody cuts the table short, the pieces that it named count as not there.
  LostPages lost_table_;
  std::optional<LastingGuard> table_guard_;
  Head* head_ = nullptr;
  std::atomic<std::uint64_t>* next_use_ = nullptr;
  std::vector<std::atomic<std::uint64_t>> own_next_use_;  // if it cannot be written to the table
  Record* records_ = nullptr;
};

}  // namespace sluice
