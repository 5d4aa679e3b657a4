#include "reader/reading/direct/direct_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "format/disk/bytes.h"
#include "reader/reading/direct/block_io.h"

namespace sluice {

namespace {

// A quarter of the files that this process may open, up to a sensible number.
std::size_t MostOpen() noexcept {
  constexpr std::size_t kMost = 1024;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 16;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 4, kMost);
}

// Opens the shard by its name, for reading through the page cache. Empty if that is not the mapped
// file.
FileHandle OpenPlain(const ShardFile& shard) noexcept {
  FileHandle plain(open(shard.name().c_str(), O_RDONLY | O_CLOEXEC));
  if (!plain || !shard.Maps(plain)) return {};
  // No read-ahead: the next read is rarely at the end of this block.
  posix_fadvise(plain.get(), 0, 0, POSIX_FADV_RANDOM);
  return plain;
}

FileHandle OpenDirect(const ShardFile& shard) noexcept {
  FileHandle direct(open(shard.name().c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  return direct && shard.Maps(direct) ? std::move(direct) : FileHandle();
}

}  // namespace

DirectFiles::DirectFiles(std::shared_ptr<BlockMemory> memory, bool refuse)
    : memory_(std::move(memory)), refuse_(refuse), most_open_(MostOpen()) {}

std::shared_ptr<const DirectFiles::File> DirectFiles::Open(std::uint32_t number,
                                                           const ShardUse& shard) {
  const MutexLock lock(mutex_);
  const auto found = open_.find(number);
  if (found != open_.end()) {
    found->second.used = ++uses_;
    // A copy of the shard may have taken its place (LoaderOptions::stage).
    if (found->second.file->shard == shard) return found->second.file;
    open_.erase(found);
  }
  if (!refuse_ && unreadable_.count(shard->file()) == 0) {
    if (FileHandle handle = OpenDirect(*shard)) return Keep(number, std::move(handle), true, shard);
  }
  return Keep(number, OpenPlain(*shard), false, shard);
}

std::shared_ptr<const DirectFiles::File> DirectFiles::Refuse(std::uint32_t number,
                                                             const ShardUse& shard) {
  const MutexLock lock(mutex_);
  unreadable_.insert(shard->file());
  const auto found = open_.find(number);
  if (found != open_.end() && found->second.file->shard == shard) {
    if (!found->second.file->direct) return found->second.file;
    open_.erase(found);
  }
  return Keep(number, OpenPlain(*shard), false, shard);
}

std::shared_ptr<const DirectFiles::File> DirectFiles::Keep(std::uint32_t number, FileHandle handle,
                                                           bool direct, const ShardUse& shard) {
  auto file = std::make_shared<const File>(File{std::move(handle), direct, shard});
  if (!file->handle) return file;
  if (!direct) refused_.insert(number);
  if (open_.size() >= most_open_) {
    open_.erase(std::min_element(open_.begin(), open_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  open_[number] = {file, ++uses_};
  return file;
}

std::shared_ptr<const HeldBlock> DirectFiles::Read(std::uint32_t number, const ShardUse& shard,
                                                   std::uint32_t block) {
  std::shared_ptr<const File> file = Open(number, shard);
  const BlockEntry& entry = shard->block_entry(block);
  auto held = std::make_shared<HeldBlock>();
  held->Give(memory_->Take(entry.bytes), entry.bytes, shard);
  if (!file->handle) {
    ReadMapped(*shard, entry.offset, {0, entry.bytes}, *held);
    return held;
  }
  BlockRead read;
  read.file = file->handle.get();
  read.to = held->data();
  read.bytes = entry.bytes;
  read.offset = entry.offset;
  ReadNow(read);
  if (read.error == EINVAL && file->direct) {
    if (const std::shared_ptr<const File> plain = Refuse(number, shard); plain->handle) {
      file = plain;
      read.file = file->handle.get();
      read.error = 0;
      ReadNow(read);
    }
  }
  if (read.done < read.bytes) Salvage(*file, entry.offset, {0, entry.bytes}, *held);
  LetGo(*file, entry.offset, entry.bytes);
  return held;
}

void DirectFiles::ReadMapped(const ShardFile& shard, std::uint64_t block_offset, ByteRange range,
                             HeldBlock& held) {
  const Bytes from = shard.bytes().subspan(block_offset + range.offset, range.bytes);
  auto* const pages = const_cast<std::byte*>(from.data());
  madvise(pages, from.size(), MADV_WILLNEED);
  const ReadGuard guard = shard.Guard();
  std::memcpy(held.data() + range.offset, from.data(), from.size());
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool cut = !shard.EndIsThere();
  for (std::size_t at = 0; at < from.size(); at += kPageBytes) {
    const Bytes page = from.subspan(at, std::min<std::size_t>(kPageBytes, from.size() - at));
    if (shard.Lost(page) || (cut && shard.CutBefore(page))) {
      held.Lose({range.offset + at, page.size()});
    }
  }
  madvise(pages, from.size(), MADV_DONTNEED);
}

void DirectFiles::Salvage(const File& file, std::uint64_t block_offset, ByteRange range,
                          HeldBlock& held) {
  const FileHandle plain = OpenPlain(*file.shard);
  if (!plain) return ReadMapped(*file.shard, block_offset, range, held);
  for (std::size_t at = range.offset; at < range.offset + range.bytes; at += kPageBytes) {
    BlockRead page;
    page.file = plain.get();
    page.to = held.data() + at;
    page.bytes = std::min<std::size_t>(kPageBytes, range.offset + range.bytes - at);
    page.offset = block_offset + at;
    ReadNow(page);
    if (page.done < page.bytes) held.Lose({at + page.done, page.bytes - page.done});
  }
}

void DirectFiles::LetGo(const File& file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (file.direct) return;
  posix_fadvise(file.handle.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                POSIX_FADV_DONTNEED);
}

std::uint64_t DirectFiles::refused() const {
  const MutexLock lock(mutex_);
  return refused_.size();
}

}  // namespace sluice
