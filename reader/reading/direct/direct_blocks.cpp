// Reads blocks by O_DIRECT into the loader's own memory. File systems differ in how they refuse
// that: when the file is opened, or at its first read. Either way, the same reads then go through
// the page cache, and the pages are dropped again.
//
// If only some fields are wanted, a block takes two rounds of reads: first its table, which says
// where the fields' payloads lie, then the payloads. A block that cannot be read completely does
// not stop other blocks; each of its samples reports the fault when its row is made.
#include "reader/reading/direct/direct_blocks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/reading/direct/block_io.h"
#include "reader/reading/direct/held_block.h"

namespace sluice {

namespace {

// A quarter of the files that this process may open, but 4 to 1024.
std::size_t MostOpen() noexcept {
  constexpr std::size_t kMost = 1024;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 16;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 4, kMost);
}

// Opens the shard by its name, for reading through the page cache. Empty if the name leads to
// another file than the mapped one.
FileHandle OpenPlain(const ShardFile& shard) noexcept {
  FileHandle plain(open(shard.name().c_str(), O_RDONLY | O_CLOEXEC));
  if (!plain || !shard.Maps(plain)) return {};
  // No kernel read-ahead: the next read is rarely next to this block.
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
    // A shard that was opened again may be another file.
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
    open_.erase(std::ranges::min_element(
        open_, [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
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
  DropCached(*file, entry.offset, entry.bytes);
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
    if (shard.Lost(page) || (cut && shard.CutOff(page))) {
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

void DirectFiles::DropCached(const File& file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (file.direct) return;
  posix_fadvise(file.handle.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                POSIX_FADV_DONTNEED);
}

std::uint64_t DirectFiles::refused() const {
  const MutexLock lock(mutex_);
  return refused_.size();
}

namespace {

constexpr unsigned kDirectThreads = 8;
// Fewer than the entries of the io_uring (kRingEntries in uring_io.cpp).
constexpr std::size_t kMaxReads = 96;

std::unique_ptr<BlockIo> MakeIo() {
  std::unique_ptr<BlockIo> io = MakeUringIo();
  return io != nullptr ? std::move(io) : MakeThreadIo(kDirectThreads);
}

ByteRange WholePages(ByteRange range) noexcept {
  const std::size_t begin = range.offset / kPageBytes * kPageBytes;
  const std::size_t end = (range.offset + range.bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  return {begin, end - begin};
}

}  // namespace

DirectBlocks::DirectBlocks(const Wanted& wanted, DirectFiles& files, bool one_at_a_time,
                           std::unique_ptr<BlockIo> io)
    : BlockSource(wanted),
      files_(files),
      io_(io != nullptr ? std::move(io) : MakeIo()),
      open_(one_at_a_time) {}

DirectBlocks::~DirectBlocks() {
  Cancel();
}

void DirectBlocks::Open(std::uint64_t block, std::uint64_t rows) {
  open_.Open(block, rows, [&] { return OpenBlocks::Block{AskFor(block)}; });
}

std::shared_ptr<const HeldBlock> DirectBlocks::Use(std::uint64_t block) {
  if (std::shared_ptr<const HeldBlock> held = open_.Use(block)) return held;
  Open(block, 0);
  return open_.Use(block);
}

std::shared_ptr<HeldBlock> DirectBlocks::AskFor(std::uint64_t block) {
  // Made first: if this throws, no entry is left that is never read.
  auto held = std::make_shared<HeldBlock>();
  Pending& pending = pending_.emplace_back();
  pending.number = block;
  pending.held = std::move(held);
  if (next_ == pending_.end()) next_ = std::prev(pending_.end());
  ++opened_;
  return pending.held;
}

void DirectBlocks::Begin() {
  while (next_ != pending_.end() && bytes_in_flight_ < depth_bytes() &&
         reads_in_flight_ < kMaxReads && !GivesUp()) {
    Pending& pending = *next_++;
    ++begun_;
    Start(pending);
  }
}

void DirectBlocks::Start(Pending& pending) {
  const SampleRef first = dataset_.facts->shape.Record(pending.number, 0);
  pending.block = first.block;
  try {
    std::shared_ptr<const Error> fault;  // each of the shard's samples will report it
    pending.shard = dataset_.table.Shard(first.shard, fault);
    if (pending.shard == nullptr) {
      pending.failed = true;
      return Continue(pending);
    }
    pending.file = files_.Open(first.shard, pending.shard);
    const std::uint64_t bytes = pending.shard->block_entry(first.block).bytes;
    MakeRoom(bytes);
    pending.held->Give(files_.memory().Take(bytes), bytes, pending.shard);
    const bool kept = AllKept(pending.number);
    pending.choice = kept ? &others_ : &choice_;
    if (kept) pending.held->LeaveOutImage();
    pending.table_first = !pending.choice->all_payloads;
    StartRange(pending,
               {0, pending.table_first ? HeldBlock::TableBytes(*pending.shard, pending.block)
                                       : pending.held->bytes().size()});
  } catch (const std::exception&) {
    pending.failed = true;  // each of the block's samples will report it
  }
  Continue(pending);
}

void DirectBlocks::StartRange(Pending& pending, ByteRange range) {
  range = WholePages(range);
  const std::uint64_t block_offset = pending.shard->block_entry(pending.block).offset;
  if (!pending.file->handle) {
    DirectFiles::ReadMapped(*pending.shard, block_offset, range, *pending.held);
    bytes_read_ += range.bytes;
    return;
  }
  BlockRead& read = pending.reads.emplace_back();
  read.file = pending.file->handle.get();
  read.to = pending.held->data() + range.offset;
  read.bytes = range.bytes;
  read.offset = block_offset + range.offset;
  read.owner = &pending;
  try {
    io_->Submit(read);
  } catch (...) {
    pending.reads.pop_back();
    throw;
  }
  bytes_in_flight_ += range.bytes;
  ++reads_in_flight_;
}

// Starts reading the wanted parts. Call it once the table has been read.
void DirectBlocks::StartParts(Pending& pending) {
  pending.table_first = false;
  try {
    const DatasetFacts& facts = *dataset_.facts;
    const RecordLayout& layout = facts.LayoutOf(facts.shape.Record(pending.number, 0).shard);
    const BlockView view = pending.held->View(*pending.shard, pending.block);
    for (const ByteRange& range : RangesOf(view, layout, facts.manifest.schema, *pending.choice))
      StartRange(pending, range);
  } catch (const Error&) {
    return;  // each of the block's samples will report it
  } catch (const std::bad_alloc&) {
    pending.failed = true;
  }
}

// A file system may open a shard with O_DIRECT and then refuse to read it. If so, begins this read
// again through the page cache; the shard's later reads go that way, too.
bool DirectBlocks::ReadsAgain(Pending& pending, BlockRead& read) {
  if (read.error != EINVAL) return false;
  try {
    if (pending.file->direct) {
      const std::uint32_t number = dataset_.facts->shape.Record(pending.number, 0).shard;
      pending.refused = std::exchange(pending.file, files_.Refuse(number, pending.shard));
    }
    if (!pending.file->handle || read.file == pending.file->handle.get()) return false;
    read.file = pending.file->handle.get();
    read.error = 0;
    io_->Submit(read);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void DirectBlocks::FinishRead() {
  BlockRead& read = io_->Wait();
  Pending& pending = *static_cast<Pending*>(read.owner);
  if (ReadsAgain(pending, read)) return;
  --reads_in_flight_;
  bytes_in_flight_ -= read.bytes;
  bytes_read_ += read.done;
  const std::uint64_t block_offset = pending.shard->block_entry(pending.block).offset;
  const ByteRange range{static_cast<std::size_t>(read.offset - block_offset), read.bytes};
  try {
    if (read.done < read.bytes)
      DirectFiles::Salvage(*pending.file, block_offset, range, *pending.held);
  } catch (const std::bad_alloc&) {
    pending.failed = true;
  }
  DirectFiles::DropCached(*pending.file, read.offset, read.bytes);
  pending.reads.remove_if([&read](const BlockRead& one) { return &one == &read; });
  Continue(pending);
}

void DirectBlocks::Continue(Pending& pending) {
  if (!pending.reads.empty()) return;
  const bool go_on = pending.table_first && !pending.failed;
  if (go_on && !GivesUp()) StartParts(pending);
  pending.done = pending.reads.empty();
  // The block is incomplete. A thread that needs it will read it again.
  if (pending.done && pending.failed) pending.held->Forget();
}

void DirectBlocks::AwaitSome() {
  Begin();
  if (reads_in_flight_ > 0 && !pending_.front().done) FinishRead();
  Pop();
}

void DirectBlocks::Pop() {
  while (!pending_.empty() && pending_.front().done) {
    pending_.pop_front();
    ++finished_;
  }
}

void DirectBlocks::Cancel() {
  while (reads_in_flight_ > 0)
    FinishRead();
  pending_.clear();
  next_ = pending_.end();
  open_.Clear();
  begun_ = finished_ = opened_;
}

void DirectBlocks::MakeRoom(std::uint64_t bytes) {
  // A row to be decoded, or a read in flight, may still hold a block.
  const auto unused = [](const std::shared_ptr<HeldBlock>& held) { return held.use_count() == 1; };
  while (!files_.memory().HasRoom(bytes) && open_.CloseOldest(unused)) {
  }
}

std::uint64_t DirectBlocks::MemoryBytes(const DatasetFacts& dataset, const LoaderOptions& options) {
  const DatasetShape& shape = dataset.shape;
  std::uint64_t held = RingWindowBytes(shape, options);
  if (!options.order.samples.all()) {  // with a list, each row may be in a different block
    const std::uint64_t rows = (SlotsOf(options) + 1) * options.batch_size;
    held = std::min(shape.bytes(), held + rows * MeanBlockBytes(shape));
  }
  held += SlotFillersOf(options) * MeanBlockBytes(shape);
  return held + CeilDiv(held, 8);  // blocks have different sizes
}

}  // namespace sluice
