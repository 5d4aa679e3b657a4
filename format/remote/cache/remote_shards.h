// The shards of a dataset in an object store, mapped like local ones: fetched by the piece, and
// given up again when memory or the cache is full.
//
// A piece is a block, or a part of a shard's frame. A reader that needs one holds it
// (ShardParts::Held); a held piece stays. Pieces that nobody holds are given up by when it will be
// needed next, the furthest first (Belady's rule); pieces of which that is unknown go first, the
// longest unused before others.
//
// Without a cache, all lies in memory: what is held or on its way, and `idle` bytes more. As blocks
// come and go in bursts, memory stays for as much as was held at once, until nothing is. With a
// cache (CACHE.md), pieces lie on disk and stay for later processes. What the cache has no room
// for, because everything there is needed sooner or the disk is full, lies in memory while it is
// held. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/disk/manifest.h"
#include "format/disk/read_guard.h"
#include "format/disk/shard.h"
#include "format/mutex.h"
#include "format/remote/cache/cache_room.h"
#include "format/remote/cache/sparse_data.h"
#include "format/remote/object_store.h"

namespace sluice {

// One request for neighbouring pieces of a shard (RemoteShards), filled by the store's thread.
struct PieceFetch {
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
  std::size_t at = 0;      // index of the part that is coming
  std::uint64_t done = 0;  // of its bytes
  bool unwritten = false;  // the disk has refused some of them
  std::uint64_t end() const noexcept { return parts.back().offset + parts.back().bytes; }
  std::uint64_t bytes() const noexcept { return end() - parts.front().offset; }
};

class RemoteShards : public std::enable_shared_from_this<RemoteShards> {
 public:
  // Bytes that stay in memory although nobody holds them.
  static constexpr std::uint64_t kIdleBytes = std::uint64_t{64} << 20;
  // When a piece will be needed next, if nobody knows.
  static constexpr std::uint64_t kUnknown = UINT64_MAX;

  // `id`: the dataset's. Throws Error.
  static std::shared_ptr<RemoteShards> Open(std::shared_ptr<ObjectStore> store,
                                            const Manifest& manifest, const std::string& id,
                                            const std::optional<BlockCache>& cache,
                                            std::uint64_t idle_bytes = kIdleBytes);
  ~RemoteShards();
  RemoteShards(const RemoteShards&) = delete;
  RemoteShards& operator=(const RemoteShards&) = delete;

  // A shard's parts, for ShardFile.
  std::shared_ptr<ShardParts> PartsOf(std::uint32_t shard);

  using Held = ShardParts::Held;
  struct Plan {
    std::uint64_t urgency = 0;          // as RangeRead's
    std::uint64_t next_use = kUnknown;  // after this one, in any unit that grows with time
  };
  // Begins to fetch parts of a shard, unless they are there. They are sent with the next Flush() or
  // Await(): neighbours asked for one after another become one request. Null if all are empty.
  Held Begin(std::uint32_t shard, std::span<const ShardParts::Part> parts, const Plan& plan);
  // Says later than Begin() when they are needed next.
  void NoteNextUse(std::uint32_t shard, std::span<const ShardParts::Part> parts,
                   std::uint64_t next_use);
  void Flush();
  // Waits until the parts are there; false if `give_up` was set first. Throws Error.
  bool Await(const Held& held, const std::atomic<bool>* give_up = nullptr);

  // As ShardParts::Mend().
  bool Mend(std::uint32_t shard, std::uint64_t offset, std::uint64_t bytes,
            const std::function<bool(Bytes)>& passes);

  struct Counts {
    std::uint64_t fetched_bytes = 0;  // of pieces, by this object
    std::uint64_t fetched = 0;        // pieces
    std::uint64_t from_cache_bytes = 0;
    std::uint64_t past_cache_bytes = 0;  // that did not fit into it
    std::uint64_t in_flight_bytes = 0;
  };
  Counts counts() const;
  // The most memory that this object takes besides the pieces: a table, and the order in which they
  // are given up.
  std::uint64_t BookkeepingBytes() const noexcept { return (48 * data_->pieces()) + (256 << 10); }
  // Bytes of memory or disk that hold pieces now.
  std::uint64_t allocated() const { return data_->allocated(); }
  bool has_cache() const noexcept { return room_.has_value(); }
  // Whether the next piece that comes may take another's place.
  bool cache_is_full() const noexcept { return room_ && room_->full(); }
  ObjectStore& store() const noexcept { return *store_; }
  std::string UrlOf(std::uint32_t shard) const;

 private:
  class Parts;
  struct Hold;
  struct Live {
    enum class State {
      kReading,    // on its way
      kWaiting,    // another process fetches or gives it up
      kToCompare,  // in the cache; this process has not compared it with its hash
      kComparing,
      kThere,
      kFailed,
    };
    State state = State::kReading;
    std::uint64_t holders = 0;
    std::uint32_t shard = 0;
    std::uint64_t offset = 0;  // in the data
    std::uint64_t bytes = 0;
    std::uint64_t urgency = 0;
    bool overlay = false;     // lies in memory of its own
    bool distrusted = false;  // the cache's bytes of it failed the comparison
    std::chrono::steady_clock::time_point waiting_since;
    std::shared_ptr<const Error> error;
  };
  RemoteShards(std::shared_ptr<ObjectStore> store, const Manifest& manifest,
               std::uint64_t idle_bytes);
  void MakeData(const std::string& id, const std::optional<BlockCache>& cache);

  std::uint64_t PieceOf(std::uint32_t shard, const ShardParts::Part& part) const;
  void Start(std::uint64_t piece, Live& live) REQUIRES(mutex_);
  enum class Cached {
    kYes,   // it is there, or another process is about to bring it
    kNo,    // this process has it locked, and brings it
    kPast,  // this process brings it for itself
  };
  Cached TakeFromCache(std::uint64_t piece, Live& live) REQUIRES(mutex_);
  void Forget(std::uint64_t piece) REQUIRES(mutex_);
  void LimitSpare() REQUIRES(mutex_);
  void TrimIdle() REQUIRES(mutex_);
  bool AwaitPiece(std::uint64_t piece, const std::atomic<bool>* give_up);
  void Compare(std::uint64_t piece, Live& live) REQUIRES(mutex_);
  std::vector<std::byte> ReadAgain(std::uint32_t shard, std::uint64_t offset, std::uint64_t bytes);
  void Replace(std::uint64_t piece, Live& live, std::uint64_t offset, Bytes bytes) REQUIRES(mutex_);
  void Release(std::uint64_t piece) noexcept;
  void LetGo(std::uint64_t piece, const Live& live) REQUIRES(mutex_);
  void SetNextUse(std::uint64_t piece, std::uint64_t next_use) REQUIRES(mutex_);
  std::vector<std::shared_ptr<PieceFetch>> TakeToRead() REQUIRES(mutex_);
  void Send(const std::shared_ptr<PieceFetch>& fetch);
  void Take(PieceFetch& fetch, Bytes bytes);
  void Finish(PieceFetch& fetch, const Error* error);
  void Arrived(std::uint64_t piece, bool unwritten, std::uint64_t hash) REQUIRES(mutex_);
  void ReadPastDisk(std::uint64_t piece, Live& live) REQUIRES(mutex_);
  void Fail(std::uint64_t piece, const Error& error) REQUIRES(mutex_);

  const std::shared_ptr<ObjectStore> store_;
  std::vector<std::string> objects_;        // by shard
  std::vector<std::uint64_t> bases_;        // by shard: its offset in the data
  std::vector<std::uint64_t> first_piece_;  // by shard, and one more
  std::vector<std::uint64_t> shard_bytes_;
  const std::uint64_t idle_bytes_;
  std::unique_ptr<SparseData> data_;

  mutable Mutex mutex_;
  Condition changed_;
  std::unordered_map<std::uint64_t, Live> live_ GUARDED_BY(mutex_);  // held, or on its way
  std::uint64_t live_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t most_live_bytes_ GUARDED_BY(mutex_) = 0;  // since live_ was last empty
  // Without a cache: those that nobody holds, by when they are needed next.
  std::set<std::pair<std::uint64_t, std::uint64_t>> idle_ GUARDED_BY(mutex_);
  std::uint64_t idle_now_ GUARDED_BY(mutex_) = 0;  // bytes of them
  std::vector<std::uint64_t> to_read_ GUARDED_BY(mutex_);
  std::list<std::shared_ptr<PieceFetch>> fetches_ GUARDED_BY(mutex_);
  std::vector<std::string> etags_ GUARDED_BY(mutex_);  // by shard; empty: not known yet
  // Ranges of shards that failed a check and came again with the same bytes: damaged in the store.
  std::set<std::pair<std::uint32_t, std::uint64_t>> damaged_ GUARDED_BY(mutex_);
  std::uint64_t tick_ GUARDED_BY(mutex_) = 0;
  Counts counts_ GUARDED_BY(mutex_);
  std::optional<CacheRoom> room_;  // with a cache; its functions need the mutex
  LostPages lost_;
};

}  // namespace sluice
