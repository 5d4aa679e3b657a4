// Reads blocks by O_DIRECT into the loader's own memory. File systems differ in how they refuse
// that: when the file is opened, or at its first read. Either way, the same reads then go through
// the page cache, and the pages are dropped again.
//
// The planner thread takes the memory for a block, and one of DirectBlocks::Threads reads the block
// from beginning to end. If only some fields are wanted, it first reads the block's table, which
// says where the fields' payloads lie. A block that cannot be read completely does not stop other
// blocks; each of its samples reports the fault when its row is made.
#include "reader/reading/direct/direct_blocks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"

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

ByteRange WholePages(ByteRange range) noexcept {
  const std::size_t begin = range.offset / kPageBytes * kPageBytes;
  const std::size_t end = AlignUp(range.offset + range.bytes, kPageBytes);
  return {begin, end - begin};
}

}  // namespace

void ReadNow(FileRead& read) noexcept {
  while (read.done < read.bytes) {
    const ssize_t got = pread(read.file, read.to + read.done, read.bytes - read.done,
                              static_cast<off_t>(read.offset + read.done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) read.error = errno;
    if (got <= 0) return;
    read.done += static_cast<std::size_t>(got);
  }
}

DirectFiles::DirectFiles(std::shared_ptr<BlockMemory> memory, bool refuse,
                         std::function<void(FileRead&)> read)
    : memory_(std::move(memory)), refuse_(refuse), read_(std::move(read)), most_open_(MostOpen()) {}

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
  const std::uint64_t bytes = shard->block_entry(block).bytes;
  auto held = std::make_shared<HeldBlock>();
  held->Give(memory_->Take(bytes), bytes, shard);
  Read(number, shard, block, {0, bytes}, *held);
  return held;
}

std::uint64_t DirectFiles::Read(std::uint32_t number, const ShardUse& shard, std::uint32_t block,
                                ByteRange range, HeldBlock& held) {
  range = WholePages(range);
  const std::uint64_t block_offset = shard->block_entry(block).offset;
  std::shared_ptr<const File> file = Open(number, shard);
  FileRead read{file->handle.get(), held.data() + range.offset, range.bytes,
                block_offset + range.offset};
  if (file->handle) read_(read);
  if (read.error == EINVAL && file->direct) {
    file = Refuse(number, shard);
    read.file = file->handle.get();
    read.error = 0;
    if (file->handle) read_(read);
  }
  if (!file->handle) {
    ReadMapped(*shard, block_offset, range, held);
    return range.bytes;
  }
  if (read.done < read.bytes) Salvage(*shard, block_offset, range, held);
  if (!file->direct) {
    posix_fadvise(read.file, static_cast<off_t>(read.offset), static_cast<off_t>(read.bytes),
                  POSIX_FADV_DONTNEED);
  }
  return read.done;
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

void DirectFiles::Salvage(const ShardFile& shard, std::uint64_t block_offset, ByteRange range,
                          HeldBlock& held) {
  const FileHandle plain = OpenPlain(shard);
  if (!plain) return ReadMapped(shard, block_offset, range, held);
  for (std::size_t at = range.offset; at < range.offset + range.bytes; at += kPageBytes) {
    FileRead page;
    page.file = plain.get();
    page.to = held.data() + at;
    page.bytes = std::min<std::size_t>(kPageBytes, range.offset + range.bytes - at);
    page.offset = block_offset + at;
    ReadNow(page);
    if (page.done < page.bytes) held.Lose({at + page.done, page.bytes - page.done});
  }
}

std::uint64_t DirectFiles::refused() const {
  const MutexLock lock(mutex_);
  return refused_.size();
}

// Threads that read blocks, one block each at a time, in the order of Add(). One is started at
// once, and each further one when all others are at work.
class DirectBlocks::Threads {
 public:
  using Read = std::packaged_task<std::uint64_t()>;

  explicit Threads(std::size_t most) : most_(most) {}
  ~Threads() {
    Cancel();
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    for (std::thread& thread : threads_)
      thread.join();
  }

  // If no thread can be started, the calling thread reads.
  std::future<std::uint64_t> Add(Read read) {
    std::future<std::uint64_t> result = read.get_future();
    {
      const MutexLock lock(mutex_);
      if (waiting_.size() + at_work_ >= threads_.size() && threads_.size() < most_) {
        try {
          threads_.emplace_back([this] { Run(); });
        } catch (const std::system_error&) {
          // The system has no further thread: the block waits longer.
        }
      }
      if (!threads_.empty()) waiting_.push_back(std::move(read));
    }
    if (read.valid()) read();
    changed_.NotifyOne();
    return result;
  }

  // Forgets the blocks that no thread has begun to read, and waits for the others.
  void Cancel() {
    const MutexLock lock(mutex_);
    waiting_.clear();
    while (at_work_ > 0)
      idle_.Wait(mutex_);
  }

 private:
  void Run() {
    const MutexLock lock(mutex_);
    for (;;) {
      while (!stopping_ && waiting_.empty())
        changed_.Wait(mutex_);
      if (waiting_.empty()) return;
      Read read = std::move(waiting_.front());
      waiting_.pop_front();
      ++at_work_;
      {
        const MutexUnlock unlocked(mutex_);
        read();
      }
      if (--at_work_ == 0) idle_.NotifyAll();
    }
  }

  const std::size_t most_;
  Mutex mutex_;
  Condition changed_;
  Condition idle_;
  std::deque<Read> waiting_ GUARDED_BY(mutex_);
  std::size_t at_work_ GUARDED_BY(mutex_) = 0;  // threads that are reading
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // only the planner thread uses the list
};

DirectBlocks::DirectBlocks(const Wanted& wanted, const LoaderOptions& options, DirectFiles& files,
                           std::size_t threads)
    : RequestedBlocks(wanted, options),
      files_(files),
      threads_(std::make_unique<Threads>(threads)) {}

DirectBlocks::~DirectBlocks() = default;

DirectRequest DirectBlocks::RequestFor(std::uint64_t block) {
  DirectRequest request;
  request.number = block;
  return request;
}

bool DirectBlocks::Start(DirectRequest& request) {
  const SampleRef first = dataset_.facts->shape.Record(request.number, 0);
  HeldBlock& held = *request.held;
  try {
    std::shared_ptr<const Error> fault;  // each of the shard's samples will report it
    const ShardUse shard = dataset_.table.Shard(first.shard, fault);
    if (shard == nullptr) return true;
    const std::uint64_t bytes = shard->block_entry(first.block).bytes;
    MakeRoom(bytes);
    held.Give(files_.memory().Take(bytes), bytes, shard);
    const bool kept = AllKept(request.number);
    if (kept) held.LeaveOutImage();
    const FieldChoice& choice = kept ? others_ : choice_;
    // The request holds the block until the block has been read, or the thread has been waited for.
    request.read = threads_->Add(
        Threads::Read([this, first, &choice, &held] { return Read(first, choice, held); }));
    request.bytes = choice.NeedsPayloads(dataset_.facts->manifest.schema)
                        ? bytes
                        : HeldBlock::TableBytes(*shard, first.block);
  } catch (const std::bad_alloc&) {
    held.Forget();  // a thread that needs the block will read it again
  }
  return true;
}

// Reads the wanted parts of a block; on one of threads_.
std::uint64_t DirectBlocks::Read(const SampleRef& first, const FieldChoice& choice,
                                 HeldBlock& held) const {
  const ShardUse& shard = held.shard();
  const auto read = [&](const ByteRange& range) {
    return files_.Read(first.shard, shard, first.block, range, held);
  };
  if (choice.all_payloads) return read({0, held.bytes().size()});
  std::uint64_t bytes = read({0, HeldBlock::TableBytes(*shard, first.block)});
  try {
    const BlockView view = held.View(*shard, first.block);
    const RecordLayout& layout = dataset_.facts->LayoutOf(first.shard);
    for (const ByteRange& range : RangesOf(view, layout, dataset_.facts->manifest.schema, choice))
      bytes += read(range);
  } catch (const Error&) {
    // Each of the block's samples will report it.
  }
  return bytes;
}

bool DirectBlocks::Finish(DirectRequest& request) {
  try {
    if (request.read.valid()) bytes_read_ += request.read.get();
  } catch (const std::exception&) {
    request.held->Forget();  // a thread that needs the block will read it again
  }
  return true;
}

void DirectBlocks::Cancel() {
  threads_->Cancel();
  RequestedBlocks::Cancel();
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
