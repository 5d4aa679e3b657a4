// The table of pieces that are held or being fetched, and the requests that fetch them.
//
// A piece goes through these states (Live::State):
//
//    Begin() -> kReading ---- its bytes come ----> kThere -> Release() -> idle, or in the cache
//       |          \--- the store fails ----> kFailed, tried again by the next Begin()
//       |-> kThere      it is idle, or lies in the cache and this process knows its hash
//       |-> kWaiting    another process has its lock in the cache and may be fetching it
//       `-> kToCompare  it lies in the cache, and this process has not compared its hash yet: then
//                       kComparing, then kThere; if the hash differs, it is fetched again
//
// Neighbouring pieces become one request. The store's thread writes the request's bytes to their
// place as they arrive. A piece that the cache has no room for lies in memory over its place (an
// overlay) while it is held.
#include "format/remote/cache/remote_shards.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <new>

#include <sys/mman.h>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/system_error.h"
#include "format/remote/remote_manifest.h"

namespace sluice {

namespace {

// How often a waiting thread checks whether another process has unlocked a piece (kLockPoll), and
// whether its caller still wants the piece (kGiveUpPoll).
constexpr std::chrono::milliseconds kLockPoll{4};
constexpr std::chrono::milliseconds kGiveUpPoll{20};

// How long this process waits for a missing piece that other processes have locked but do not
// fetch. (Any process that can read the cache's table can lock all of it.)
constexpr std::chrono::seconds kStrangersLock{1};

// Whether the disk is full, or another process keeps the cache locked: then the cache is bypassed.
bool BypassesCache(const SystemError& error) {
  return error.number() == ENOSPC || error.number() == EDQUOT || error.number() == EWOULDBLOCK;
}

}  // namespace

// Keeps pieces held while it lives.
struct RemoteShards::Hold {
  explicit Hold(std::shared_ptr<RemoteShards> of) : home(std::move(of)) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    for (const std::uint64_t piece : pieces)
      home->Release(piece);
  }
  const std::shared_ptr<RemoteShards> home;
  std::vector<std::uint64_t> pieces;
};

class RemoteShards::Parts : public ShardParts {
 public:
  Parts(std::shared_ptr<RemoteShards> home, std::uint32_t shard)
      : home_(std::move(home)), shard_(shard), name_(home_->UrlOf(shard)) {}

  const std::string& name() const noexcept override { return name_; }
  Bytes bytes() const noexcept override {
    return home_->data_->bytes().subspan(home_->bases_[shard_], home_->shard_bytes_[shard_]);
  }
  Held Begin(std::span<const Part> parts) override { return home_->Begin(shard_, parts, {}); }
  void Await(const Held& held) override { home_->Await(held); }
  bool Mend(std::uint64_t offset, std::uint64_t bytes,
            const std::function<bool(Bytes)>& passes) override {
    return home_->Mend(shard_, offset, bytes, passes);
  }

 private:
  const std::shared_ptr<RemoteShards> home_;
  const std::uint32_t shard_;
  const std::string name_;
};

RemoteShards::RemoteShards(std::shared_ptr<ObjectStore> store, const Manifest& manifest,
                           std::uint64_t idle_bytes)
    : store_(std::move(store)), idle_bytes_(idle_bytes), etags_(manifest.shards.size()) {
  CachePlace place;
  for (const ManifestShard& shard : manifest.shards) {
    objects_.push_back(shard.file);
    shard_bytes_.push_back(shard.bytes);
    bases_.push_back(place.bytes);
    first_piece_.push_back(place.pieces);
    place.Add({shard.id, shard.digest, shard.bytes, shard.blocks});
  }
  bases_.push_back(place.bytes);
  first_piece_.push_back(place.pieces);
}

std::shared_ptr<RemoteShards> RemoteShards::Open(std::shared_ptr<ObjectStore> store,
                                                 const Manifest& manifest,
                                                 const std::optional<BlockCache>& cache,
                                                 std::uint64_t idle_bytes) {
  std::shared_ptr<RemoteShards> shards(new RemoteShards(std::move(store), manifest, idle_bytes));
  CachedShards list;
  for (const ManifestShard& shard : manifest.shards)
    list.push_back({shard.id, shard.digest, shard.bytes, shard.blocks});
  shards->MakeData(list, cache);
  return shards;
}

void RemoteShards::MakeData(const CachedShards& shards, const std::optional<BlockCache>& cache) {
  if (cache) {
    try {
      data_ = std::make_unique<SparseData>(cache->folder, shards);
      room_.emplace(*cache, *data_);
      return;
    } catch (const SystemError& error) {
      if (!BypassesCache(error)) throw;  // otherwise everything bypasses the cache
    }
  }
  data_ = std::make_unique<SparseData>(bases_.back(), first_piece_.back(), idle_bytes_ / 2);
}

RemoteShards::~RemoteShards() {
  std::list<std::shared_ptr<PieceFetch>> fetches;
  {
    const MutexLock lock(mutex_);
    fetches = fetches_;
  }
  for (const std::shared_ptr<PieceFetch>& fetch : fetches)
    // Without the mutex: Cancel() waits for a call of the fetch's functions, which take it.
    store_->Cancel(fetch->ticket);
  const MutexLock lock(mutex_);
  for (const auto& [piece, live] : live_) {
    // The kernel releases the locks of pieces that were being fetched, but not their room.
    if (room_ && live.state == Live::State::kReading && !live.overlay) room_->GiveBack(live.bytes);
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
  // The piece with the largest value is evicted first. A piece with an unknown next use gets a
  // value above those of all others, and a smaller one the later it is used, so that the least
  // recently used of these pieces is evicted first.
  constexpr std::uint64_t kOfUnknown = std::uint64_t{3} << 62;
  constexpr std::uint64_t kAboveKnown = std::uint64_t{1} << 63;
  const std::uint64_t value =
      next_use == kUnknown ? kOfUnknown - ++tick_ : std::min(next_use, kAboveKnown - 2) + 1;
  data_->next_use(piece).store(value, std::memory_order_relaxed);
}

void RemoteShards::NoteNextUse(std::uint32_t shard, std::span<const ShardParts::Part> parts,
                               std::uint64_t next_use) {
  const MutexLock lock(mutex_);
  for (const ShardParts::Part& part : parts) {
    if (part.bytes == 0) continue;
    const std::uint64_t piece = PieceOf(shard, part);
    if (live_.count(piece) == 0 && !data_->Find(piece)) continue;  // evicted meanwhile
    SetNextUse(piece, next_use);
    if (room_) room_->AllowEviction(piece);
  }
}

RemoteShards::Held RemoteShards::Begin(std::uint32_t shard, std::span<const ShardParts::Part> parts,
                                       const Plan& plan) {
  auto hold = std::make_shared<Hold>(shared_from_this());
  hold->pieces.reserve(parts.size());
  for (const ShardParts::Part& part : parts) {
    if (part.bytes == 0) continue;
    const std::uint64_t piece = PieceOf(shard, part);
    const MutexLock lock(mutex_);
    const auto [at, fresh] = live_.try_emplace(piece);
    Live& live = at->second;
    if (fresh) {
      live.shard = shard;
      live.offset = bases_[shard] + part.offset;
      live.bytes = part.bytes;
      live.urgency = plan.urgency;
      live_bytes_ += live.bytes;
      most_live_bytes_ = std::max(most_live_bytes_, live_bytes_);
      const std::uint64_t next_use = data_->next_use(piece).load(std::memory_order_relaxed);
      if (!room_ && idle_.erase({next_use, piece}) > 0) idle_now_ -= live.bytes;
    }
    ++live.holders;
    hold->pieces.push_back(piece);
    // A shard's frame (header, sections, directory, tail) is small, and needed for each of its
    // blocks. Its next use stays 0: it is evicted last from memory, and never from a cache.
    if (part.number >= ShardParts::kFirstBlock) SetNextUse(piece, plan.next_use);
    if (fresh || live.state == Live::State::kFailed) Start(piece, live);
  }
  return hold->pieces.empty() ? nullptr : hold;
}

// Decides where a piece's bytes come from, and sets its state. If they come from the store, the
// next Flush() requests them.
void RemoteShards::Start(std::uint64_t piece, Live& live) {
  live.error = nullptr;
  live.overlay = false;
  if (!room_ && data_->Find(piece)) {
    live.state = Live::State::kThere;
    return;
  }
  if (room_) {
    const Cached cached = TakeFromCache(piece, live);
    if (cached == Cached::kComes) return;
    // A pointer, since the analysis of mutexes does not see that the lambda runs with the mutex
    // held.
    const auto* const all = &live_;
    const auto in_use = [all](std::uint64_t other) { return all->count(other) > 0; };
    if (cached == Cached::kBypassed || !room_->Reserve(piece, live.offset, live.bytes, in_use)) {
      data_->Lock(piece, FileHold::kNone);
      live.overlay = data_->Overlay(live.offset, live.bytes);
      counts_.past_cache_bytes += live.bytes;
      if (!live.overlay) {
        live.state = Live::State::kFailed;
        live.error = std::make_shared<const Error>(
            ErrorCode::kLimit, UrlOf(live.shard),
            "the cache has no room for a block, and there is no memory left to hold it; lower "
            "LoaderOptions::order.window_bytes, or give the cache more room");
        return;
      }
    }
  }
  live.state = Live::State::kReading;
  counts_.in_flight_bytes += live.bytes;
  to_read_.push_back(piece);
}

// Looks for the piece in the cache, and locks it: shared if it is there, exclusively if this
// process must fetch it.
RemoteShards::Cached RemoteShards::TakeFromCache(std::uint64_t piece, Live& live) {
  const auto find = [&]() -> std::optional<SparseData::Piece> {
    const auto found = data_->Find(piece);
    const bool good =
        found && !live.distrusted && found->offset == live.offset && found->bytes == live.bytes;
    return good ? found : std::nullopt;
  };
  const auto now = std::chrono::steady_clock::now();
  if (live.state != Live::State::kWaiting) live.waiting_since = now;
  live.state = Live::State::kWaiting;
  const bool looks_there = find().has_value();
  if (!looks_there && !data_->writable()) return Cached::kBypassed;
  if (!data_->Lock(piece, looks_there ? FileHold::kShared : FileHold::kExclusive)) {
    const bool in_vain = now - live.waiting_since > kStrangersLock;
    return in_vain && data_->IsLockedShared(piece) ? Cached::kBypassed : Cached::kComes;
  }
  if (const auto found = find()) {
    // Another process has fetched it in the moment before this one got the lock: reading needs
    // less.
    if (!looks_there) data_->Lock(piece, FileHold::kShared);
    if (room_->SeenHash(piece) == found->hash) {
      live.state = Live::State::kThere;
      counts_.from_cache_bytes += live.bytes;
    } else {
      live.state = Live::State::kToCompare;
      const std::uint64_t page = live.offset / kShardAlignment * kShardAlignment;
      madvise(const_cast<std::byte*>(data_->bytes().data()) + page, live.offset + live.bytes - page,
              MADV_WILLNEED);
    }
    return Cached::kComes;
  }
  if (looks_there) {  // evicted meanwhile
    data_->Lock(piece, FileHold::kNone);
    return Cached::kComes;
  }
  if (const auto old = data_->Find(piece)) {
    room_->GiveBack(old->bytes);
    const std::uint64_t next_use = data_->next_use(piece).load(std::memory_order_relaxed);
    data_->Drop(piece);
    data_->next_use(piece).store(next_use, std::memory_order_relaxed);
  }
  live.distrusted = false;
  return Cached::kMissing;
}

void RemoteShards::TrimIdle() {
  // The other half of idle_bytes_ is for the pages of evicted pieces.
  while (idle_now_ > idle_bytes_ - (idle_bytes_ / 2) && !idle_.empty()) {
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
  // A piece that is still being read stays in the table, since the store's thread writes to its
  // place; the end of the fetch releases it.
  if (--found->second.holders > 0 || found->second.state == Live::State::kReading) return;
  const Live live = std::move(found->second);
  Forget(piece);
  MakeEvictable(piece, live);
}

// Removes from live_ a piece that is neither held nor being fetched.
void RemoteShards::Forget(std::uint64_t piece) {
  const auto found = live_.find(piece);
  live_bytes_ -= found->second.bytes;
  if (live_bytes_ == 0) most_live_bytes_ = 0;
  live_.erase(found);
  LimitSpare();
}

// Limits the spare pages to half of idle_bytes_, and the bytes by which live_ has become smaller
// than it was at most: the next burst of pieces will use them.
void RemoteShards::LimitSpare() {
  data_->SetSpare((idle_bytes_ / 2) + most_live_bytes_ - live_bytes_);
}

// Called for a piece that nobody holds any more: ends its overlay, or allows its eviction from the
// cache or from memory.
void RemoteShards::MakeEvictable(std::uint64_t piece, const Live& live) {
  const bool there = live.state == Live::State::kThere || live.state == Live::State::kToCompare;
  if (!there) return;
  if (live.overlay) {
    data_->EndOverlay(live.offset, live.bytes);
    data_->next_use(piece).store(0, std::memory_order_relaxed);
  } else if (room_) {
    data_->Lock(piece, FileHold::kNone);
    room_->AllowEviction(piece);
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
    // Without the mutex, since it reads the disk. The state kComparing keeps other threads away.
    hash = Hash64(data_->bytes().subspan(live.offset, live.bytes));
  }
  const auto found = data_->Find(piece);
  if (found && found->hash == hash) {
    live.state = Live::State::kThere;
    room_->See(piece, hash);
    counts_.from_cache_bytes += live.bytes;
  } else {
    // The hashes differ because the machine has crashed or the disk fails. The piece is fetched
    // again. Where the disk could not read a page, the guard has put a page of zeros into the
    // mapping; EndOverlay() maps the file there again.
    data_->EndOverlay(live.offset, live.bytes);
    data_->Lock(piece, FileHold::kNone);
    live.distrusted = true;
    Start(piece, live);
  }
  changed_.NotifyAll();
}

bool RemoteShards::Await(const Held& held, const std::atomic<bool>* give_up) {
  if (held == nullptr) return true;
  const std::vector<std::uint64_t>& pieces = static_cast<const Hold*>(held.get())->pieces;
  return std::all_of(pieces.begin(), pieces.end(),
                     [&](std::uint64_t piece) { return AwaitPiece(piece, give_up); });
}

// Each turn looks at the state anew: everything that this thread does for the piece (asking the
// cache, sending requests, comparing a hash) either gives up the mutex or changes the state.
bool RemoteShards::AwaitPiece(std::uint64_t piece, const std::atomic<bool>* give_up) {
  using State = Live::State;
  const MutexLock lock(mutex_);
  Live& live = live_.at(piece);  // the entry stays while the piece is held
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
    changed_.WaitFor(mutex_, live.state == State::kWaiting ? kLockPoll : kGiveUpPoll);
  }
}

namespace {

// Neighbouring pieces are joined into requests of up to this size. (A larger block is one request.)
constexpr std::uint64_t kMaxJoined = std::uint64_t{8} << 20;

// How long a decoding thread waits while a range is fetched again, if the server hangs.
constexpr std::chrono::seconds kMaxForAgain{30};

}  // namespace

std::vector<std::shared_ptr<PieceFetch>> RemoteShards::TakeToRead() {
  std::vector<std::shared_ptr<PieceFetch>> fetches;
  for (const std::uint64_t piece : to_read_) {
    const Live& live = live_.at(piece);
    PieceFetch* const last = fetches.empty() ? nullptr : fetches.back().get();
    const bool joins = last != nullptr && last->shard == live.shard && last->end() == live.offset &&
                       last->bytes() + live.bytes <= kMaxJoined;
    if (!joins) {
      fetches.push_back(std::make_shared<PieceFetch>());
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
  std::vector<std::shared_ptr<PieceFetch>> fetches;
  {
    const MutexLock lock(mutex_);
    fetches = TakeToRead();
  }
  // The store's thread may answer at once, and needs the mutex to do so.
  for (const std::shared_ptr<PieceFetch>& fetch : fetches) {
    try {
      Send(fetch);
    } catch (const Error& error) {  // otherwise threads would wait for its pieces forever
      Finish(*fetch, &error);
    } catch (const std::bad_alloc&) {
      Finish(*fetch, &OutOfMemory());
    }
  }
}

void RemoteShards::Send(const std::shared_ptr<PieceFetch>& fetch) {
  RangeRead read;
  read.object = objects_[fetch->shard];
  read.offset = fetch->parts.front().offset - bases_[fetch->shard];
  read.bytes = fetch->bytes();
  read.etag = fetch->etag;
  read.info = fetch->info;
  read.urgency = fetch->urgency;
  read.take = [this, fetch](Bytes bytes) { Take(*fetch, bytes); };
  read.done = [this, fetch](const Error* error) { Finish(*fetch, error); };
  for (const PieceFetch::Part& part : fetch->parts)
    data_->Prepare(part.offset, part.bytes);
  {
    const MutexLock lock(mutex_);
    LimitSpare();
  }
  fetch->ticket = store_->Read(std::move(read));
}

void RemoteShards::Take(PieceFetch& fetch, Bytes bytes) {
  while (!bytes.empty()) {
    const PieceFetch::Part& part = fetch.parts[fetch.at];
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
    if (room_ && !part.overlay && !fetch.unwritten) {
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
    if (room_) {
      room_->See(piece, hash);
      data_->Lock(piece, FileHold::kShared);
    }
  }
  if (live.holders == 0) {
    const Live last = std::move(live);
    Forget(piece);
    MakeEvictable(piece, last);
  }
  changed_.NotifyAll();
}

// Called for a piece whose bytes have come, but could not be written to the cache's disk (or to the
// file in memory, without a cache). With a cache, gives the piece memory of its own, into which it
// is fetched again. Otherwise, or if nobody holds the piece, it fails.
void RemoteShards::ReadPastDisk(std::uint64_t piece, Live& live) {
  if (room_ && data_->Overlay(live.offset, live.bytes)) {
    live.overlay = true;
    room_->GiveBack(live.bytes);
    data_->Free(live.offset, live.bytes);
    data_->Lock(piece, FileHold::kNone);
  }
  if (live.overlay && live.holders > 0) {
    counts_.past_cache_bytes += live.bytes;
    to_read_.push_back(piece);  // a thread that waits for the piece will send the request
    changed_.NotifyAll();
    return;
  }
  Fail(piece,
       Error(ErrorCode::kMemory, UrlOf(live.shard), "there is not enough memory for a block"));
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
    if (room_) room_->GiveBack(live.bytes);
    data_->Lock(piece, FileHold::kNone);
  }
  live.state = Live::State::kFailed;
  live.error = std::make_shared<const Error>(ShardError(error));
  if (live.holders == 0) Forget(piece);
  changed_.NotifyAll();
}

// Damaged bytes stay in place at first, since other threads may be reading the good parts around
// them. Only the range that fails its check is fetched again, and it replaces the old bytes only if
// it passes. No thread relies on those bytes yet, and all other bytes stay the same.
bool RemoteShards::Mend(std::uint32_t shard, std::uint64_t offset, std::uint64_t bytes,
                        const std::function<bool(Bytes)>& passes) {
  const std::uint64_t at = bases_[shard] + offset;
  {
    const MutexLock lock(mutex_);
    if (damaged_.count({shard, offset}) > 0) return false;
  }
  // Another thread may have mended the range already.
  const Bytes there = data_->bytes().subspan(at, bytes);
  const std::vector<std::byte> before(there.begin(), there.end());
  if (passes(before)) return true;
  const std::vector<std::byte> again = ReadAgain(shard, offset, bytes);
  if (again.empty()) return false;
  const bool good = passes(again);
  const MutexLock lock(mutex_);
  if (!good && again == before) damaged_.insert({shard, offset});
  if (!good) return false;
  try {
    std::uint64_t replaced = 0;
    for (auto& [piece, live] : live_) {
      const std::uint64_t begin = std::max(at, live.offset);
      const std::uint64_t end = std::min(at + bytes, live.offset + live.bytes);
      if (live.state != Live::State::kThere || begin >= end) continue;
      Replace(piece, live, begin, Bytes(again).subspan(begin - at, end - begin));
      replaced += end - begin;
    }
    return replaced == bytes;
  } catch (const SystemError&) {  // the disk or memory refuses the bytes
    return false;
  }
}

// Overwrites a piece's bytes from `offset` on. Throws SystemError.
void RemoteShards::Replace(std::uint64_t piece, Live& live, std::uint64_t offset, Bytes bytes) {
  const bool in_cache = room_ && !live.overlay;
  if (!in_cache || !data_->writable()) {
    if (!data_->OverlayCopy(live.offset, live.bytes, offset, bytes))
      throw SystemError(ErrorCode::kMemory, UrlOf(live.shard), "there is not enough memory",
                        ENOMEM);
    if (!in_cache) return;
    live.overlay = true;
    data_->Lock(piece, FileHold::kNone);
    return;
  }
  data_->Write(offset, bytes);
  const ReadGuard guard(data_->bytes(), lost_);
  const std::uint64_t hash = Hash64(data_->bytes().subspan(live.offset, live.bytes));
  data_->Note(piece, {live.offset, live.bytes, hash});
  room_->See(piece, hash);
}

// Fetches a single range. Returns an empty vector if that fails.
std::vector<std::byte> RemoteShards::ReadAgain(std::uint32_t shard, std::uint64_t offset,
                                               std::uint64_t bytes) {
  struct Answer {
    std::vector<std::byte> bytes;
    std::promise<bool> whole;
  };
  const auto answer = std::make_shared<Answer>();
  std::future<bool> whole = answer->whole.get_future();
  RangeRead read;
  read.object = objects_[shard];
  read.offset = offset;
  read.bytes = bytes;
  {
    const MutexLock lock(mutex_);
    read.etag = etags_[shard];
  }
  answer->bytes.reserve(bytes);
  read.take = [answer](Bytes part) {
    answer->bytes.insert(answer->bytes.end(), part.begin(), part.end());
  };
  read.done = [answer](const Error* error) { answer->whole.set_value(error == nullptr); };
  try {
    const std::uint64_t ticket = store_->Read(std::move(read));
    if (whole.wait_for(kMaxForAgain) != std::future_status::ready) {
      store_->Cancel(ticket);
      return {};
    }
  } catch (const Error&) {
    return {};
  }
  return whole.get() && answer->bytes.size() == bytes ? std::move(answer->bytes)
                                                      : std::vector<std::byte>();
}

void RemoteShards::Finish(PieceFetch& fetch, const Error* error) {
  const MutexLock lock(mutex_);
  if (error == nullptr && etags_[fetch.shard].empty()) etags_[fetch.shard] = fetch.info->etag;
  for (; error != nullptr && fetch.at < fetch.parts.size(); ++fetch.at)
    Fail(fetch.parts[fetch.at].piece, *error);
  fetches_.remove_if([&fetch](const auto& one) { return one.get() == &fetch; });
}

}  // namespace sluice
