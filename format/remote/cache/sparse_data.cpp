// A piece has a fixed place in a mapping as large as all shards, of which only the pieces that are
// there take memory or disk.
//
// In a folder, the mapping is a sparse file and a table next to it says what is there (CACHE.md
// describes both); other processes map the same two. In memory, the mapping is anonymous, and pages
// are moved between places instead of being freed and cleared again (SparePages).
//
// The folder is made to survive a crash of any process at any moment. A record of the table has a
// check value over all of its other members, so one that was written in part counts as absent
// (Find()); the count of used bytes and the holes of the file are only repaired by a process that
// is alone (Recount()), because others change them at the same time.
#include "format/remote/cache/sparse_data.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/system_error.h"
#include "format/remote/cache/cache_folder.h"

namespace sluice {

// Returns pages to the system. Moving pages splits the mapping: the range that they came to, and
// the range that they left, become mappings of their own, of which a process may have 65,530. So a
// large range is mapped anew, because the kernel merges fresh mappings with their neighbours.
void SparePages::Drop(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  std::byte* const at = mapping_ + offset;
  const bool fresh =
      bytes >= kLeast &&
      mmap(at, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
  madvise(at, bytes, fresh ? MADV_NOHUGEPAGE : MADV_DONTNEED);
}

void SparePages::Remove(Ranges::iterator range) {
  const auto [begin, end] = by_size_.equal_range(range->second);
  for (auto at = begin; at != end; ++at) {
    if (at->second != range->first) continue;
    by_size_.erase(at);
    break;
  }
  kept_ -= range->second;
  ranges_.erase(range);
}

// The smallest ranges are dropped first, since they fit the fewest pieces.
void SparePages::SetMost(std::uint64_t most) noexcept {
  const MutexLock lock(mutex_);
  most_ = most;
  while (kept_ > most_) {
    const auto [bytes, offset] = *by_size_.begin();
    Remove(ranges_.find(offset));
    Drop(offset, bytes);
  }
}

bool SparePages::Keep(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (Note(offset, bytes)) return true;
  Drop(offset, bytes);
  return false;
}

bool SparePages::Note(std::uint64_t offset, std::uint64_t bytes) noexcept {
#ifdef MREMAP_DONTUNMAP
  const MutexLock lock(mutex_);
  if (bytes < kLeast || kept_ + bytes > most_) return false;
  try {
    const auto range = ranges_.emplace(offset, bytes).first;
    try {
      by_size_.emplace(bytes, offset);
    } catch (const std::bad_alloc&) {
      ranges_.erase(range);
      return false;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  kept_ += bytes;
  return true;
#else
  static_cast<void>(offset);
  static_cast<void>(bytes);
  return false;
#endif
}

// Takes the kept pages in this range off the list. Returns true if one run of kept pages covers the
// whole range, so that it can be used where it is.
bool SparePages::TakeBack(std::uint64_t offset, std::uint64_t bytes) {
  auto range = ranges_.upper_bound(offset);
  if (range != ranges_.begin()) --range;
  while (range != ranges_.end() && range->first < offset + bytes) {
    const auto [begin, size] = *range;
    const auto next = std::next(range);
    if (begin + size > offset) {
      Remove(range);
      if (begin <= offset && begin + size >= offset + bytes) return true;
    }
    range = next;
  }
  return false;
}

bool SparePages::Give(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  if (TakeBack(offset, bytes)) return true;
  const auto fits = by_size_.lower_bound(bytes);
  if (bytes < kLeast || fits == by_size_.end()) return false;
  const auto [size, from] = *fits;
  Remove(ranges_.find(from));
  const bool moved = Move(from, offset, bytes);
  Drop(from, size);
  return moved;
}

bool SparePages::Move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const noexcept {
#ifdef MREMAP_DONTUNMAP
  return mremap(mapping_ + from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
                mapping_ + to) != MAP_FAILED;
#else
  static_cast<void>(from);
  static_cast<void>(to);
  static_cast<void>(bytes);
  return false;
#endif
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void Fail(const fs::path& path, const char* what, int number) {
  throw SystemError(ErrorCode::kIo, path.string(),
                    std::string(what) + ": " + SystemErrorText(number), number);
}

std::byte* MapFile(int fd, std::uint64_t bytes, int protection, const std::string& name) {
  void* const at = mmap(nullptr, std::max<std::uint64_t>(bytes, 1), protection,
                        MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) {
    throw SystemError(
        ErrorCode::kLimit, name,
        "cannot be mapped (" + SystemErrorText(errno) +
            "): a dataset in an object store needs as much address space as its size; "
            "raise `ulimit -v`",
        errno);
  }
  return static_cast<std::byte*>(at);
}

void SetSize(const FileHandle& file, std::uint64_t bytes, const fs::path& name) {
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) == 0) return;
  const int number = errno;
  if (number == EFBIG || number == EINVAL) {
    throw SystemError(ErrorCode::kLimit, name.string(),
                      "the file system does not support files as large as the dataset; use another "
                      "file system, such as XFS",
                      number);
  }
  Fail(name, "cannot be set to its size", number);
}

}  // namespace

std::uint64_t SparseData::TableBytes() const noexcept {
  return kPageBytes + pieces_ * sizeof(Record);
}

void SparseData::Map() {
  const std::string name = shared() ? folder_.string() : "memory";
  if (data_ == nullptr) data_ = MapFile(file_.get(), bytes_, PROT_READ, name);
  table_ = MapFile(table_file_.get(), TableBytes(), PROT_READ | (writable_ ? PROT_WRITE : 0), name);
  if (shared()) table_guard_.emplace(Bytes(table_, TableBytes()), lost_table_);
  head_ = reinterpret_cast<Head*>(table_);
  records_ = reinterpret_cast<Record*>(table_ + kPageBytes);
  next_use_ = &records_->next_use;
  if (!writable_) {
    own_next_use_ = std::vector<std::atomic<std::uint64_t>>(pieces_);
    next_use_ = own_next_use_.data();
    next_use_stride_ = 1;
  }
}

SparseData::SparseData(std::uint64_t bytes, std::uint64_t pieces, std::uint64_t spare)
    : bytes_(bytes), pieces_(pieces), table_file_(memfd_create("sluice-pieces", MFD_CLOEXEC)) {
  MapAnonymous(spare);
  if (data_ == nullptr) {
    file_ = FileHandle(memfd_create("sluice-blocks", MFD_CLOEXEC));
    if (!file_) Fail("memfd", "cannot be created", errno);
    SetSize(file_, bytes_, "memfd");
  }
  if (!table_file_) Fail("memfd", "cannot be created", errno);
  SetSize(table_file_, TableBytes(), "memfd");
  Map();
}

// Leaves data_ null in three cases: the kernel promises no more memory than there is
// (vm.overcommit_memory = 2); the process may have little memory (ulimit -d); or a machine page is
// larger than a page of the format, so that pieces could not be freed one by one.
void SparseData::MapAnonymous(std::uint64_t spare) {
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kPageBytes)) return;
  void* const at = mmap(nullptr, std::max<std::uint64_t>(bytes_, 1), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return;
  data_ = static_cast<std::byte*>(at);
  // A huge page would also take memory for pieces that are not there.
  madvise(at, std::max<std::uint64_t>(bytes_, 1), MADV_NOHUGEPAGE);
  spare_.emplace(data_, spare);
}

SparseData::SparseData(const fs::path& folder, const CachedShards& shards)
    : root_(SharedFolder::Make(AbsolutePath(folder))) {
  try {
    OpenForWriting(shards);
  } catch (const SystemError& error) {
    if (error.number() != EROFS && error.number() != EACCES) throw;
    if (!OpenForReading(shards)) throw;
  }
}

SparseData::~SparseData() {
  if (data_ != nullptr) munmap(data_, std::max<std::uint64_t>(bytes_, 1));
  table_guard_.reset();
  if (table_ != nullptr) munmap(table_, TableBytes());
}

void SparseData::OpenForWriting(const CachedShards& shards) {
  const CacheLock root = CacheLock::Wait(*root_);
  const auto [name, there] = CacheFolderOf(*root_, shards);
  folder_ = root_->path() / name;
  const SharedFolder folder = root_->MakeFolder(name);
  file_ = folder.OpenFile(kCacheData);
  table_file_ = folder.OpenFile(kCacheTable);
  in_use_ = folder.OpenFile(kCacheLock);
  // If no other process has the dataset open, Recount() repairs the state that a dead process has
  // left.
  // All this happens under the lock of the root folder, so no other process opens the dataset for
  // writing between the exclusive lock and the shared one below.
  const bool alone = LockFile(in_use_, FileHold::kExclusive);
  const bool fits = Fits();
  if (!fits && !alone) {
    throw Error(ErrorCode::kIo, folder_.string(),
                "another version of Sluice uses this cache; use another folder");
  }
  if (!fits) {
    // Through size 0, so that the files become one hole: old pieces must not take disk space.
    SetSize(file_, 0, folder_ / kCacheData);
    SetSize(table_file_, 0, folder_ / kCacheTable);
  }
  Grow(folder.OpenFile(kCacheShards), there.size() > shards.size() ? there : shards);
  Map();
  if (alone) Recount(CachePlace::After(shards).pieces);
  if (!LockFile(in_use_, FileHold::kShared)) Fail(folder_, "cannot be locked", errno);
  futimens(in_use_.get(), nullptr);  // notes the time of use, for TrimCache()
}

// Returns false if there is nothing to read.
bool SparseData::OpenForReading(const CachedShards& shards) {
  // Where the files end before that, nothing is there.
  const CachePlace end = CachePlace::After(shards);
  bytes_ = end.bytes;
  pieces_ = end.pieces;
  try {
    const std::string name = CacheFolderOf(*root_, shards).first;
    folder_ = root_->path() / name;
    const SharedFolder folder = root_->OpenFolder(name);
    file_ = folder.OpenForReading(kCacheData);
    table_file_ = folder.OpenForReading(kCacheTable);
    if (!Fits()) return false;
    in_use_ = folder.OpenLock(kCacheLock);
  } catch (const Error&) {
    return false;
  }
  // If the lock is not granted, a process that may write there can evict pieces, but none that this
  // process has locked.
  LockFile(in_use_, FileHold::kShared);
  writable_ = false;
  Map();
  return true;
}

bool SparseData::Fits() const {
  Head head{};
  return ReadWhole(table_file_, 0, std::as_writable_bytes(std::span(&head, 1))) &&
         std::memcmp(head.magic, kCacheMagic, sizeof(kCacheMagic)) == 0 &&
         head.version == kCacheVersion;
}

// Gives the files the size that these shards need. Processes that use fewer shards there have the
// beginnings of the files mapped, which stay as they are.
void SparseData::Grow(const FileHandle& list, const CachedShards& shards) {
  const CachePlace end = CachePlace::After(shards);
  bytes_ = end.bytes;
  pieces_ = end.pieces;
  struct stat data {};
  if (fstat(file_.get(), &data) != 0 || static_cast<std::uint64_t>(data.st_size) < bytes_)
    SetSize(file_, bytes_, folder_ / kCacheData);
  // Allocates all of the file's blocks, so that writing to the mapping cannot fail.
  const int number = posix_fallocate(table_file_.get(), 0, static_cast<off_t>(TableBytes()));
  if (number != 0) Fail(folder_ / kCacheTable, "cannot be allocated", number);
  if (!WriteWhole(list, 0, std::as_bytes(std::span(shards))))
    Fail(folder_ / kCacheShards, "cannot be written", errno);
  Head head{};
  std::memcpy(head.magic, kCacheMagic, sizeof(kCacheMagic));
  head.version = kCacheVersion;
  head.pieces = pieces_;
  head.bytes = bytes_;
  // Not `used`, which other processes count.
  const Bytes known = std::as_bytes(std::span(&head, 1)).first(offsetof(Head, used));
  if (!WriteWhole(table_file_, 0, known)) Fail(folder_ / kCacheTable, "cannot be written", errno);
}

// Recomputes the count of used bytes and the file's holes from the pieces that are there.
// Pieces from `own_pieces` on are of shards that this process does not use: they go first.
void SparseData::Recount(std::uint64_t own_pieces) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> there;  // offset, bytes
  std::uint64_t used = 0;
  for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
    const std::optional<Piece> found = Find(piece);
    if (!found) {
      records_[piece].there = {};
      next_use(piece) = 0;
      continue;
    }
    if (piece >= own_pieces) next_use(piece) = UINT64_MAX;
    used += found->bytes;
    there.emplace_back(found->offset, found->bytes);
  }
  std::sort(there.begin(), there.end());
  // A piece without bytes at the end, so that the loop also looks at what follows the last piece.
  there.emplace_back(bytes_, 0);
  std::uint64_t free = 0;
  for (const auto& [offset, bytes] : there) {
    const off_t data = lseek(file_.get(), static_cast<off_t>(free), SEEK_DATA);
    if (offset > free && data >= 0 && static_cast<std::uint64_t>(data) < offset)
      Free(free, offset - free);
    free = std::max(free, AlignUp(offset + bytes, kPageBytes));
  }
  head_->used = used;
}

std::uint64_t SparseData::CheckOf(std::uint64_t piece, const Record::There& record) noexcept {
  // The number of the piece is part of it, so that a record at a wrong place does not count. The
  // lowest bit is set, because 0 marks a record that is empty.
  const std::uint64_t words[] = {piece, record.offset, record.bytes, record.hash, kCacheVersion};
  return Hash64(std::as_bytes(std::span(words))) | 1;
}

std::optional<SparseData::Piece> SparseData::Find(std::uint64_t piece) const noexcept {
  const Record::There record = records_[piece].there;
  if (record.check == 0 || record.check != CheckOf(piece, record)) return {};
  if (!Inside(record.offset, record.bytes, bytes_)) return {};
  return Piece{record.offset, record.bytes, record.hash};
}

void SparseData::Note(std::uint64_t piece, const Piece& there) noexcept {
  Record::There record{there.offset, there.bytes, there.hash, 0};
  record.check = CheckOf(piece, record);
  records_[piece].there = record;
}

void SparseData::Drop(std::uint64_t piece) noexcept {
  const std::optional<Piece> found = Find(piece);
  records_[piece].there = {};
  next_use(piece).store(0, std::memory_order_relaxed);
  // Freed last: a process that finds the record may read the bytes.
  if (found) Free(found->offset, found->bytes);
}

void SparseData::Free(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (!file_) {
    spare_->Keep(offset, AlignUp(bytes, kPageBytes));
    return;
  }
  fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(AlignUp(bytes, kPageBytes)));
}

bool SparseData::Lock(std::uint64_t piece, FileHold hold) noexcept {
  return !shared() || LockByte(table_file_, piece, hold);
}

bool SparseData::IsLockedShared(std::uint64_t piece) const noexcept {
  return OtherHold(table_file_, piece, FileHold::kExclusive) == FileHold::kShared;
}

bool SparseData::Allocate(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (!shared()) return true;
  int result = 0;
  do {
    result = fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno == EOPNOTSUPP;  // if unsupported, writing will show it
}

void SparseData::Prepare(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (file_) return;
  const std::uint64_t pages = AlignUp(bytes, kPageBytes);
  if (spare_->Give(offset, pages)) {
    // The pages still hold another piece. What the new one does not overwrite must be zeros, as in
    // fresh pages.
    std::memset(data_ + offset + bytes, 0, pages - bytes);
    return;
  }
#ifdef MADV_POPULATE_WRITE  // Linux 5.14; without it, pages are allocated one by one
  madvise(data_ + offset, pages, MADV_POPULATE_WRITE);
#endif
}

void SparseData::Write(std::uint64_t offset, Bytes bytes) {
  if (!file_) {
    std::memcpy(data_ + offset, bytes.data(), bytes.size());
    return;
  }
  if (!WriteWhole(file_, offset, bytes))
    Fail(shared() ? folder_ / kCacheData : fs::path("memory"), "cannot be written", errno);
}

bool SparseData::Overlay(std::uint64_t offset, std::uint64_t bytes) noexcept {
  return mmap(data_ + offset, bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

bool SparseData::OverlayCopy(std::uint64_t offset, std::uint64_t bytes, std::uint64_t at,
                             Bytes part) noexcept {
  if (file_ && !shared()) return WriteWhole(file_, at, part);  // the file is this process's own
  void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return false;
  std::memcpy(made, data_ + offset, bytes);
  std::memcpy(static_cast<std::byte*>(made) + (at - offset), part.data(), part.size());
  if (mremap(made, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, data_ + offset) != MAP_FAILED)
    return true;
  munmap(made, bytes);
  return false;
}

void SparseData::EndOverlay(std::uint64_t offset, std::uint64_t bytes) noexcept {
  mmap(data_ + offset, bytes, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_.get(),
       static_cast<off_t>(offset));
}

std::uint64_t SparseData::allocated() const {
  if (!file_) {
    constexpr std::uint64_t kAtOnce = std::uint64_t{64} << 20;
    std::vector<unsigned char> in_memory(kAtOnce / kPageBytes);
    std::uint64_t pages = 0;
    for (std::uint64_t offset = 0; offset < bytes_; offset += kAtOnce) {
      const std::uint64_t count = std::min(kAtOnce, bytes_ - offset);
      if (mincore(data_ + offset, count, in_memory.data()) != 0) return 0;
      const std::uint64_t looked_at = AlignUp(count, kPageBytes) / kPageBytes;
      for (std::uint64_t page = 0; page < looked_at; ++page)
        pages += in_memory[page] & 1;
    }
    return pages * kPageBytes;
  }
  struct stat info {};
  if (fstat(file_.get(), &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

}  // namespace sluice
