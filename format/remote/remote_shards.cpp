#include "format/remote/remote_shards.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/system_error.h"
#include "format/remote/cache_folder.h"

namespace sluice {

namespace {

// The largest usual page of a machine: each shard's mapping begins at a page.
constexpr std::uint64_t kShardAlignment = 65536;
// Neighbours are joined to requests of this size. (A larger block is one request.)
constexpr std::uint64_t kMostJoined = std::uint64_t{8} << 20;

// How soon a waiting thread looks again whether another process has let go of a piece, or whether
// nobody wants the piece any more.
constexpr std::chrono::milliseconds kOthersPiece{4};
constexpr std::chrono::milliseconds kLook{20};

// Not a copy: copies of an exception share their text, and this one goes to another thread.
std::shared_ptr<const Error> CopyOf(const Error& error) {
  return std::make_shared<const Error>(error.code(), error.file(), error.place(), error.sentence());
}

bool DiskIsFull(const SystemError& error) {
  return error.number() == ENOSPC || error.number() == EDQUOT;
}

}  // namespace

// Keeps a piece held while it lives.
struct RemoteShards::Hold {
  std::shared_ptr<RemoteShards> home;  // null: not held yet
  std::uint64_t piece = 0;
  Hold() = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (home != nullptr) home->Release(piece);
  }
};

// One request, for neighbouring pieces. Filled by the store's thread.
struct RemoteShards::Fetch {
  struct Part {
    std::uint64_t piece = 0;
    std::uint64_t offset = 0;  // in the data
    std::uint64_t bytes = 0;
    bool overlay = false;
  };
  std::uint32_t shard = 0;
  std::vector<Part> parts;
  std::uint64_t urgency = 0;
  std::string etag;
  std::shared_ptr<ObjectInfo> info = std::make_shared<ObjectInfo>();
  std::uint64_t ticket = 0;
  std::size_t at = 0;      // the part that is coming
  std::uint64_t done = 0;  // of its bytes
  bool unwritten = false;  // the disk has refused some of them
  std::uint64_t bytes() const noexcept {
    return parts.back().offset + parts.back().bytes - parts.front().offset;
  }
};

class RemoteShards::Parts : public ShardParts {
 public:
  Parts(std::shared_ptr<RemoteShards> home, std::uint32_t shard)
      : home_(std::move(home)), shard_(shard), name_(home_->UrlOf(shard)) {}

  const std::string& name() const noexcept override { return name_; }
  Bytes bytes() const noexcept override {
    return home_->data_->bytes().subspan(home_->bases_[shard_], home_->shard_bytes_[shard_]);
  }
  Held Begin(const Part& part) override { return home_->Begin(shard_, part, {}); }
  void Await(const Held& held) override { home_->Await(held); }

 private:
  const std::shared_ptr<RemoteShards> home_;
  const std::uint32_t shard_;
  const std::string name_;
};

RemoteShards::RemoteShards(std::shared_ptr<ObjectStore> store, const Manifest& manifest,
                           std::uint64_t idle_bytes)
    : store_(std::move(store)), idle_bytes_(idle_bytes), etags_(manifest.shards.size()) {
  std::uint64_t base = 0;
  std::uint64_t pieces = 0;
  for (const ManifestShard& shard : manifest.shards) {
    objects_.push_back(shard.file);
    shard_bytes_.push_back(shard.bytes);
    bases_.push_back(base);
    first_piece_.push_back(pieces);
    base += AlignUp(shard.bytes, kShardAlignment);
    // Whatever the manifest says: a block takes a page at least.
    pieces += ShardParts::kFirstBlock + std::min(shard.blocks, shard.bytes / kPageBytes);
  }
  bases_.push_back(base);
  first_piece_.push_back(pieces);
}

std::shared_ptr<RemoteShards> RemoteShards::Open(std::shared_ptr<ObjectStore> store,
                                                 const Manifest& manifest, const std::string& id,
                                                 const std::optional<BlockCache>& cache,
                                                 std::uint64_t idle_bytes) {
  std::shared_ptr<RemoteShards> shards(new RemoteShards(std::move(store), manifest, idle_bytes));
  shards->MakeData(id, cache);
  return shards;
}

void RemoteShards::MakeData(const std::string& id, const std::optional<BlockCache>& cache) {
  const std::uint64_t bytes = bases_.back();
  const std::uint64_t pieces = first_piece_.back();
  if (cache) {
    try {
      data_ = std::make_unique<SparseData>(cache->folder, id, bytes, pieces);
      cache_ = cache;
      id_ = id;
      return;
    } catch (const SystemError& error) {
      if (!DiskIsFull(error)) throw;  // else everything is read past the cache
    }
  }
  data_ = std::make_unique<SparseData>(bytes, pieces);
}

RemoteShards::~RemoteShards() {
  std::list<std::shared_ptr<Fetch>> fetches;
  {
    const MutexLock lock(mutex_);
    fetches = fetches_;
  }
  for (const std::shared_ptr<Fetch>& fetch : fetches)
    store_->Cancel(fetch->ticket);
  const MutexLock lock(mutex_);
  for (const auto& [piece, live] : live_) {
    // What was on its way. The kernel would release the lock, but not the room.
    if (cache_ && live.state == Live::State::kReading && !live.overlay) data_->used() -= live.bytes;
  }
}

std::string RemoteShards::UrlOf(std::uint32_t shard) const {
  return store_->url() + "/" + objects_[shard];
}

std::shared_ptr<ShardParts> RemoteShards::PartsOf(std::uint32_t shard) {
  return std::make_shared<Parts>(shared_from_this(), shard);
}

RemoteShards::Counts RemoteShards::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

std::uint64_t RemoteShards::PieceOf(std::uint32_t shard, const ShardParts::Part& part) const {
  const std::uint64_t piece = first_piece_[shard] + part.number;
  if (piece >= first_piece_[shard + 1] || !Inside(part.offset, part.bytes, shard_bytes_[shard])) {
    throw Error(ErrorCode::kCorrupt, UrlOf(shard), "directory",
                "has blocks that the manifest does not know; restore it or convert again");
  }
  return piece;
}

void RemoteShards::SetNextUse(std::uint64_t piece, std::uint64_t next_use) {
  constexpr std::uint64_t kOfUnknown = std::uint64_t{3} << 62;
  constexpr std::uint64_t kLatest = std::uint64_t{1} << 63;
  // What is unknown goes first, the longest unused before others.
  const std::uint64_t value =
      next_use == kUnknown ? kOfUnknown - ++tick_ : std::min(next_use, kLatest - 2) + 1;
  data_->next_use(piece).store(value, std::memory_order_relaxed);
}

RemoteShards::Held RemoteShards::Begin(std::uint32_t shard, const ShardParts::Part& part,
                                       const Plan& plan) {
  if (part.bytes == 0) return nullptr;
  const std::uint64_t piece = PieceOf(shard, part);
  auto hold = std::make_shared<Hold>();
  const MutexLock lock(mutex_);
  const auto [at, fresh] = live_.try_emplace(piece);
  Live& live = at->second;
  if (fresh) {
    live.shard = shard;
    live.offset = bases_[shard] + part.offset;
    live.bytes = part.bytes;
    live.urgency = plan.urgency;
    const std::uint64_t next_use = data_->next_use(piece).load(std::memory_order_relaxed);
    if (!cache_ && idle_.erase({next_use, piece}) > 0) idle_now_ -= live.bytes;
  }
  ++live.holders;
  hold->home = shared_from_this();
  hold->piece = piece;
  // A shard's frame is small, and needed for each of its blocks.
  if (part.number >= ShardParts::kFirstBlock) SetNextUse(piece, plan.next_use);
  if (fresh || live.state == Live::State::kFailed) Start(piece, live);
  return hold;
}

void RemoteShards::Start(std::uint64_t piece, Live& live) {
  live.error = nullptr;
  live.overlay = false;
  if (!cache_ && data_->Find(piece)) {
    live.state = Live::State::kThere;
    return;
  }
  if (cache_) {
    if (TakeFromCache(piece, live)) return;
    if (!Reserve(piece, live)) {
      data_->Lock(piece, SparseData::Hold::kNone);
      live.overlay = data_->Overlay(live.offset, live.bytes);
      counts_.past_cache_bytes += live.bytes;
      if (!live.overlay) {
        live.state = Live::State::kFailed;
        live.error = std::make_shared<const Error>(
            ErrorCode::kLimit, UrlOf(live.shard),
            "the cache has no room for a block, and this process no memory; lower "
            "LoaderOptions::order.window_bytes, or give the cache more room");
        return;
      }
    }
  }
  live.state = Live::State::kReading;
  counts_.in_flight_bytes += live.bytes;
  to_read_.push_back(piece);
}

// True if the piece is there, or another process is about to bring it. False: it is not, and this
// process has it locked.
bool RemoteShards::TakeFromCache(std::uint64_t piece, Live& live) {
  using Lock = SparseData::Hold;
  const auto find = [&]() -> std::optional<SparseData::Piece> {
    const auto found = data_->Find(piece);
    const bool good =
        found && !live.distrusted && found->offset == live.offset && found->bytes == live.bytes;
    return good ? found : std::nullopt;
  };
  live.state = Live::State::kWaiting;
  const bool looks_there = find().has_value();
  if (!data_->Lock(piece, looks_there ? Lock::kShared : Lock::kExclusive)) return true;
  if (const auto found = find()) {
    if (!looks_there) data_->Lock(piece, Lock::kShared);
    const auto seen = seen_.find(piece);
    if (seen != seen_.end() && seen->second == found->hash) {
      live.state = Live::State::kThere;
      counts_.from_cache_bytes += live.bytes;
    } else {
      live.state = Live::State::kToCompare;
      const std::uint64_t page = live.offset / kShardAlignment * kShardAlignment;
      madvise(const_cast<std::byte*>(data_->bytes().data()) + page, live.offset + live.bytes - page,
              MADV_WILLNEED);
    }
    return true;
  }
  if (looks_there) {  // given up since
    data_->Lock(piece, Lock::kNone);
    return true;
  }
  if (const auto old = data_->Find(piece)) {
    data_->used() -= old->bytes;
    const std::uint64_t next_use = data_->next_use(piece).load(std::memory_order_relaxed);
    data_->Drop(piece);
    data_->next_use(piece).store(next_use, std::memory_order_relaxed);
  }
  live.distrusted = false;
  return false;
}

bool RemoteShards::Reserve(std::uint64_t piece, const Live& live) {
  // How often to look what other datasets use, and whether one can go: that is a few files to open.
  constexpr std::uint64_t kLookAtOthers = 64;
  constexpr std::uint64_t kLookWhenFull = 16;
  std::uint64_t used = data_->used().load();
  const bool full = others_use_ > 0 && used + live.bytes + others_use_ > cache_->bytes;
  if (reservations_++ % (full ? kLookWhenFull : kLookAtOthers) == 0) {
    try {
      const std::uint64_t wanted = used + live.bytes;
      others_use_ = TrimCache(cache_->folder, id_, cache_->bytes - std::min(cache_->bytes, wanted));
    } catch (const Error&) {
      others_use_ = cache_->bytes;  // the folder is gone or not ours any more
    }
  }
  const std::uint64_t next_use = data_->next_use(piece).load(std::memory_order_relaxed);
  const std::uint64_t room = cache_->bytes - std::min(cache_->bytes, others_use_);
  if (live.bytes > room) return false;
  // Other processes reserve too; what they see in use is never more than the room.
  do {
    while ((used = data_->used().load()) > room - live.bytes) {
      if (!GiveUpFurthest(next_use)) return false;
    }
  } while (!data_->used().compare_exchange_weak(used, used + live.bytes));
  if (data_->Allocate(live.offset, live.bytes)) return true;
  data_->used() -= live.bytes;
  return false;
}

// Gives up the piece needed last, if that is later than `than`.
bool RemoteShards::GiveUpFurthest(std::uint64_t than) {
  std::vector<std::uint64_t> of_others;  // pieces that other processes use
  for (;;) {
    std::uint64_t furthest = data_->pieces();
    std::uint64_t latest = than;
    for (std::uint64_t piece = 0; piece < data_->pieces(); ++piece) {
      const std::uint64_t next_use = data_->next_use(piece).load(std::memory_order_relaxed);
      if (next_use <= latest || live_.count(piece) > 0 ||
          std::find(of_others.begin(), of_others.end(), piece) != of_others.end()) {
        continue;
      }
      latest = next_use;
      furthest = piece;
    }
    if (furthest == data_->pieces()) return false;
    if (!data_->Lock(furthest, SparseData::Hold::kExclusive)) {
      of_others.push_back(furthest);
      continue;
    }
    const auto found = data_->Find(furthest);
    data_->Drop(furthest);
    if (found) data_->used() -= found->bytes;
    seen_.erase(furthest);
    data_->Lock(furthest, SparseData::Hold::kNone);
    if (found) return true;
  }
}

void RemoteShards::TrimIdle() {
  while (idle_now_ > idle_bytes_ && !idle_.empty()) {
    const auto last = std::prev(idle_.end());
    const std::uint64_t piece = last->second;
    idle_.erase(last);
    idle_now_ -= data_->Find(piece).value_or(SparseData::Piece()).bytes;
    data_->Drop(piece);
  }
}

void RemoteShards::Release(std::uint64_t piece) noexcept {
  const MutexLock lock(mutex_);
  const auto found = live_.find(piece);
  if (--found->second.holders > 0 || found->second.state == Live::State::kReading) return;
  LetGo(piece, found->second);
  live_.erase(found);
}

// Nobody holds the piece any more.
void RemoteShards::LetGo(std::uint64_t piece, const Live& live) {
  const bool there = live.state == Live::State::kThere || live.state == Live::State::kToCompare;
  if (!there) return;
  if (live.overlay) {
    data_->EndOverlay(live.offset, live.bytes);
    data_->next_use(piece).store(0, std::memory_order_relaxed);
  } else if (cache_) {
    data_->Lock(piece, SparseData::Hold::kNone);
  } else {
    idle_.emplace(data_->next_use(piece).load(std::memory_order_relaxed), piece);
    idle_now_ += live.bytes;
    TrimIdle();
  }
}

void RemoteShards::Compare(std::uint64_t piece, Live& live) {
  live.state = Live::State::kComparing;
  std::uint64_t hash = 0;
  {
    const MutexUnlock unlocked(mutex_);
    const ReadGuard guard(data_->bytes(), lost_);
    hash = Hash64(data_->bytes().subspan(live.offset, live.bytes));
  }
  const auto found = data_->Find(piece);
  if (found && found->hash == hash) {
    live.state = Live::State::kThere;
    seen_[piece] = hash;
    counts_.from_cache_bytes += live.bytes;
  } else {
    // The machine has crashed, or the disk fails: fetched again. A page that the disk could not
    // read has been replaced in the mapping.
    data_->EndOverlay(live.offset, live.bytes);
    data_->Lock(piece, SparseData::Hold::kNone);
    live.distrusted = true;
    Start(piece, live);
  }
  changed_.NotifyAll();
}

bool RemoteShards::Await(const Held& held, const std::atomic<bool>* give_up) {
  using State = Live::State;
  if (held == nullptr) return true;
  const std::uint64_t piece = static_cast<const Hold*>(held.get())->piece;
  const MutexLock lock(mutex_);
  Live& live = live_.at(piece);  // stays while it is held
  for (;;) {
    if (live.state == State::kWaiting) Start(piece, live);
    if (!to_read_.empty()) {
      const MutexUnlock unlocked(mutex_);
      Flush();
    }
    if (live.state == State::kToCompare) Compare(piece, live);
    if (live.state == State::kThere) return true;
    if (live.state == State::kFailed) {
      throw Error(live.error->code(), live.error->file(), live.error->place(),
                  live.error->sentence());
    }
    if (give_up != nullptr && give_up->load(std::memory_order_relaxed)) return false;
    changed_.WaitFor(mutex_, live.state == State::kWaiting ? kOthersPiece : kLook);
  }
}

std::vector<std::shared_ptr<RemoteShards::Fetch>> RemoteShards::TakeToRead() {
  std::vector<std::shared_ptr<Fetch>> fetches;
  for (const std::uint64_t piece : to_read_) {
    const Live& live = live_.at(piece);
    Fetch* const last = fetches.empty() ? nullptr : fetches.back().get();
    const bool joins = last != nullptr && last->shard == live.shard &&
                       last->parts.back().offset + last->parts.back().bytes == live.offset &&
                       last->bytes() + live.bytes <= kMostJoined;
    if (!joins) {
      fetches.push_back(std::make_shared<Fetch>());
      fetches.back()->shard = live.shard;
      fetches.back()->urgency = live.urgency;
      fetches.back()->etag = etags_[live.shard];
    }
    fetches.back()->parts.push_back({piece, live.offset, live.bytes, live.overlay});
  }
  to_read_.clear();
  fetches_.insert(fetches_.end(), fetches.begin(), fetches.end());
  return fetches;
}

void RemoteShards::Flush() {
  std::vector<std::shared_ptr<Fetch>> fetches;
  {
    const MutexLock lock(mutex_);
    fetches = TakeToRead();
  }
  // The store's thread may answer at once, and needs the mutex for it.
  for (const std::shared_ptr<Fetch>& fetch : fetches) {
    try {
      Send(fetch);
    } catch (const Error& error) {  // else whoever waits for its pieces would wait for ever
      Finish(*fetch, &error);
    } catch (const std::bad_alloc&) {
      const Error error(ErrorCode::kLimit, UrlOf(fetch->shard), "there is not enough memory");
      Finish(*fetch, &error);
    }
  }
}

void RemoteShards::Send(const std::shared_ptr<Fetch>& fetch) {
  RangeRead read;
  read.object = objects_[fetch->shard];
  read.offset = fetch->parts.front().offset - bases_[fetch->shard];
  read.bytes = fetch->bytes();
  read.etag = fetch->etag;
  read.info = fetch->info;
  read.urgency = fetch->urgency;
  read.take = [this, fetch](Bytes bytes) { Take(*fetch, bytes); };
  read.done = [this, fetch](const Error* error) { Finish(*fetch, error); };
  fetch->ticket = store_->Read(std::move(read));
}

void RemoteShards::Take(Fetch& fetch, Bytes bytes) {
  while (!bytes.empty()) {
    const Fetch::Part& part = fetch.parts[fetch.at];
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), part.bytes - fetch.done);
    if (part.overlay) {
      std::memcpy(data_->overlay(part.offset) + fetch.done, bytes.data(), count);
    } else if (!fetch.unwritten) {
      try {
        data_->Write(part.offset + fetch.done, bytes.first(count));
      } catch (const SystemError&) {
        fetch.unwritten = true;
      }
    }
    bytes = bytes.subspan(count);
    fetch.done += count;
    if (fetch.done < part.bytes) continue;
    std::uint64_t hash = 0;
    if (cache_ && !part.overlay && !fetch.unwritten) {
      const ReadGuard guard(data_->bytes(), lost_);
      hash = Hash64(data_->bytes().subspan(part.offset, part.bytes));
    }
    {
      const MutexLock lock(mutex_);
      Arrived(part.piece, fetch.unwritten, hash);
    }
    ++fetch.at;
    fetch.done = 0;
    fetch.unwritten = false;
  }
}

void RemoteShards::Arrived(std::uint64_t piece, bool unwritten, std::uint64_t hash) {
  const auto found = live_.find(piece);
  Live& live = found->second;
  if (unwritten) {
    ReadPastDisk(piece, live);
    return;
  }
  live.state = Live::State::kThere;
  counts_.in_flight_bytes -= live.bytes;
  counts_.fetched_bytes += live.bytes;
  ++counts_.fetched;
  if (!live.overlay) {
    data_->Note(piece, {live.offset, live.bytes, hash});
    if (cache_) {
      seen_[piece] = hash;
      data_->Lock(piece, SparseData::Hold::kShared);
    }
  }
  if (live.holders == 0) {
    LetGo(piece, live);
    live_.erase(found);
  }
  changed_.NotifyAll();
}

// The disk, or memory, has refused the bytes that came.
void RemoteShards::ReadPastDisk(std::uint64_t piece, Live& live) {
  if (cache_ && data_->Overlay(live.offset, live.bytes)) {
    live.overlay = true;
    data_->used() -= live.bytes;
    data_->Free(live.offset, live.bytes);
    data_->Lock(piece, SparseData::Hold::kNone);
  }
  if (live.overlay && live.holders > 0) {
    counts_.past_cache_bytes += live.bytes;
    to_read_.push_back(piece);  // a thread that waits for it will send it
    changed_.NotifyAll();
    return;
  }
  Fail(piece,
       Error(ErrorCode::kLimit, UrlOf(live.shard), "there is not enough memory for a block"));
}

void RemoteShards::Fail(std::uint64_t piece, const Error& error) {
  const auto found = live_.find(piece);
  Live& live = found->second;
  counts_.in_flight_bytes -= live.bytes;
  if (live.overlay) {
    data_->EndOverlay(live.offset, live.bytes);
    data_->next_use(piece).store(0, std::memory_order_relaxed);
    live.overlay = false;
  } else {
    data_->Free(live.offset, live.bytes);
    data_->next_use(piece).store(0, std::memory_order_relaxed);
    if (cache_) data_->used() -= live.bytes;
    data_->Lock(piece, SparseData::Hold::kNone);
  }
  live.state = Live::State::kFailed;
  live.error = CopyOf(error);
  if (live.holders == 0) live_.erase(found);
  changed_.NotifyAll();
}

void RemoteShards::Finish(Fetch& fetch, const Error* error) {
  const MutexLock lock(mutex_);
  if (error == nullptr && etags_[fetch.shard].empty()) etags_[fetch.shard] = fetch.info->etag;
  for (; error != nullptr && fetch.at < fetch.parts.size(); ++fetch.at)
    Fail(fetch.parts[fetch.at].piece, *error);
  fetches_.remove_if([&fetch](const auto& one) { return one.get() == &fetch; });
}

}  // namespace sluice
