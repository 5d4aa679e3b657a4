#include "reader/reading/direct/direct_blocks.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "reader/reading/field_ranges.h"

namespace sluice {

namespace {

constexpr unsigned kDirectThreads = 8;
// Fewer than an io_uring has places.
constexpr std::size_t kMostReads = 96;

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

DirectBlocks::DirectBlocks(DatasetState& dataset, const FieldChoice& choice,
                           const PictureCache* store, DirectFiles& files, bool one_at_a_time,
                           const std::atomic<bool>& give_up, std::unique_ptr<BlockIo> io)
    : dataset_(dataset),
      choice_(choice),
      others_(store == nullptr ? choice : choice.WithoutImage()),
      store_(store),
      files_(files),
      give_up_(give_up),
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
  auto held = std::make_shared<HeldBlock>();  // first: an entry without it would never be read
  Pending& pending = pending_.emplace_back();
  pending.number = block;
  pending.held = std::move(held);
  if (next_ == pending_.end()) next_ = std::prev(pending_.end());
  ++opened_;
  return pending.held;
}

void DirectBlocks::Begin() {
  while (next_ != pending_.end() && bytes_in_flight_ < depth_bytes() &&
         reads_in_flight_ < kMostReads && !give_up_.load(std::memory_order_relaxed)) {
    Pending& pending = *next_++;
    ++begun_;
    Start(pending);
  }
}

void DirectBlocks::Start(Pending& pending) {
  const SampleRef first = dataset_.facts->shape.Row(pending.number, 0);
  pending.block = first.block;
  try {
    std::shared_ptr<const Error> fault;  // each of its samples will say so
    pending.shard = dataset_.table.Shard(first.shard, fault);
    if (pending.shard == nullptr) {
      pending.failed = true;
      return GoOn(pending);
    }
    pending.file = files_.Open(first.shard, pending.shard);
    const std::uint64_t bytes = pending.shard->block_entry(first.block).bytes;
    MakeRoom(bytes);
    pending.held->Give(files_.memory().Take(bytes), bytes, pending.shard);
    const bool kept = store_ != nullptr && store_->HasAll(dataset_.facts->shape, pending.number);
    pending.choice = kept ? &others_ : &choice_;
    if (kept) pending.held->LeaveOutImage();
    pending.table_first = !pending.choice->all_payloads;
    StartRange(pending,
               {0, pending.table_first ? HeldBlock::TableBytes(*pending.shard, pending.block)
                                       : pending.held->bytes().size()});
  } catch (const std::exception&) {
    pending.failed = true;  // each of its samples will say so
  }
  GoOn(pending);
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

// Call it when the table has been read.
void DirectBlocks::StartParts(Pending& pending) {
  pending.table_first = false;
  try {
    const BlockView view = pending.held->View(*pending.shard, pending.block);
    for (const ByteRange& range :
         RangesOf(view, dataset_.facts->layout, dataset_.facts->manifest.schema, *pending.choice))
      StartRange(pending, range);
  } catch (const Error&) {
    return;  // each of its samples will say so
  } catch (const std::bad_alloc&) {
    pending.failed = true;
  }
}

// The file system may open a shard with O_DIRECT and then refuse to read it. If so, begins this
// read again through the page cache, as for all others of the shard.
bool DirectBlocks::ReadsAgain(Pending& pending, BlockRead& read) {
  if (read.error != EINVAL) return false;
  try {
    if (pending.file->direct) {
      const std::uint32_t number = dataset_.facts->shape.Row(pending.number, 0).shard;
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
  DirectFiles::LetGo(*pending.file, read.offset, read.bytes);
  pending.reads.remove_if([&read](const BlockRead& one) { return &one == &read; });
  GoOn(pending);
}

void DirectBlocks::GoOn(Pending& pending) {
  if (!pending.reads.empty()) return;
  const bool go_on = pending.table_first && !pending.failed;
  if (go_on && !give_up_.load(std::memory_order_relaxed)) StartParts(pending);
  pending.done = pending.reads.empty();
  // The block is not whole. A thread that needs it will read it again.
  if (pending.done && pending.failed) pending.held->Forget();
}

void DirectBlocks::Await(std::uint64_t count) {
  while (finished_ < count && !give_up_.load(std::memory_order_relaxed)) {
    Begin();
    if (reads_in_flight_ > 0 && !pending_.front().done) FinishRead();
    Pop();
  }
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
  // A row to be decoded, or a read in flight, may still have a block.
  const auto unused = [](const std::shared_ptr<HeldBlock>& held) { return held.use_count() == 1; };
  while (!files_.memory().HasRoom(bytes) && open_.CloseOldest(unused)) {
  }
}

}  // namespace sluice
