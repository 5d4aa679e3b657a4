// The shards of a dataset in an object store, mapped like local ones. Pieces are fetched when they
// are needed, and evicted when memory or the cache is full.
//
// A piece is a block, or a part of a shard's frame. A reader that needs a piece holds it
// (ShardParts::Held), and a held piece stays. Of the other pieces, the one needed furthest in the
// future is evicted first (Belady's rule). Pieces with an unknown next use are evicted before all
// others, the least recently used first.
//
// Without a cache, everything lies in memory: pieces that are held or being fetched, and
// `idle_bytes` more. Blocks come and go in bursts, so memory for the most bytes ever held at once
// stays allocated until nothing is held. With a cache (CACHE.md), pieces lie on disk and stay for
// later processes. A piece that the cache has no room for, because everything there is needed
// sooner or the disk is full, lies in memory while it is held. Thread-safe.
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
#include "format/disk/shard_fetch.h"
#include "format/mutex.h"
#include "format/remote/cache/cache_folder.h"
#include "format/remote/cache/cache_room.h"
#include "format/remote/cache/sparse_data.h"
#include "format/remote/object_store.h"

namespace sluice {

// One request for neighbouring pieces of a shard (RemoteShards). The store's thread fills it.
struct PieceFetch {
  struct Part {
    std::uint64_t piece = 0;
    std::uint64_t offset = 0;  // in the mapping of all shards
    std::uint64_t bytes = 0;
    bool overlay = false;  // whether it goes to memory over its place in the cache
  };
  std::uint32_t shard = 0;
  std::vector<Part> parts;
  std::uint64_t urgency = 0;
  std::string etag;
  std::shared_ptr<ObjectInfo> info = std::make_shared<ObjectInfo>();
  std::uint64_t ticket = 0;
  std::size_t at = 0;      // index of the part being received
  std::uint64_t done = 0;  // bytes of that part received
  bool unwritten = false;  // whether the disk has refused some bytes
  std::uint64_t end() const noexcept { return parts.back().offset + parts.back().bytes; }
  std::uint64_t bytes() const noexcept { return end() - parts.front().offset; }
};

class RemoteShards : public std::enable_shared_from_this<RemoteShards> {
 public:
  // Without a cache: the bytes of memory that stay allocated although no held piece uses them.
  static constexpr std::uint64_t kIdleBytes = std::uint64_t{64} << 20;
  // The next use of a piece, if it is unknown.
  static constexpr std::uint64_t kUnknown = UINT64_MAX;

  // Throws Error.
  static std::shared_ptr<RemoteShards> Open(std::shared_ptr<ObjectStore> store,
                                            const Manifest& manifest,
                                            const std::optional<BlockCache>& cache,
                                            std::uint64_t idle_bytes = kIdleBytes);
  ~RemoteShards();
  RemoteShards(const RemoteShards&) = delete;
  RemoteShards& operator=(const RemoteShards&) = delete;

  // The parts of a shard, for ShardFile.
  std::shared_ptr<ShardParts> PartsOf(std::uint32_t shard);

  using Held = ShardParts::Held;
  struct Plan {
    std::uint64_t urgency = 0;          // as in RangeRead
    std::uint64_t next_use = kUnknown;  // the use after this one, in any unit that grows with time
  };
  // Begins to fetch parts of a shard that are not there yet. The next Flush() or Await() sends the
  // requests: neighbouring parts that were requested one after another become one request. Returns
  // null if all parts are empty.
  Held Begin(std::uint32_t shard, std::span<const ShardParts::Part> parts, const Plan& plan);
  // Sets the next use of parts, if Begin() did not know it.
  void NoteNextUse(std::uint32_t shard, std::span<const ShardParts::Part> parts,
                   std::uint64_t next_use);
  void Flush();
  // Waits until the parts are there. Returns false if `give_up` was set first. Throws Error.
  bool Await(const Held& held, const std::atomic<bool>* give_up = nullptr);

  // As ShardParts::Mend().
  bool Mend(std::uint32_t shard, std::uint64_t offset, std::uint64_t bytes,
            const std::function<bool(Bytes)>& passes);

  struct Counts {
    std::uint64_t fetched_bytes = 0;  // bytes of pieces that this object fetched
    std::uint64_t fetched = 0;        // number of these pieces
    std::uint64_t from_cache_bytes = 0;
    std::uint64_t past_cache_bytes = 0;  // bytes that bypass the cache: no room, or no access
    std::uint64_t in_flight_bytes = 0;
  };
  Counts counts() const;
  // The most memory that this object takes besides the pieces: 40 bytes a piece for the table, and
  // for EvictionOrder's heap up to 4 bytes a piece and 256 KiB; rounded up.
  std::uint64_t BookkeepingBytes() const noexcept { return (48 * data_->pieces()) + (256 << 10); }
  // Bytes of memory or disk that pieces take now.
  std::uint64_t allocated() const { return data_->allocated(); }
  bool has_cache() const noexcept { return room_.has_value(); }
  // Whether another piece may have to be evicted for the next one.
  bool cache_is_full() const noexcept { return room_ && room_->full(); }
  ObjectStore& store() const noexcept { return *store_; }
  std::string UrlOf(std::uint32_t shard) const;

 private:
  class Parts;
  struct Hold;
  struct Live {
    enum class State {
      kReading,    // being fetched
      kWaiting,    // another process fetches or evicts it
      kToCompare,  // in the cache; this process has not compared it with its hash
      kComparing,
      kThere,
      kFailed,
    };
    State state = State::kReading;
    std::uint64_t holders = 0;
    std::uint32_t shard = 0;
    std::uint64_t offset = 0;  // in the mapping of all shards
    std::uint64_t bytes = 0;
    std::uint64_t urgency = 0;
    bool overlay = false;     // whether it lies in memory over its place in the cache
    bool distrusted = false;  // whether its bytes in the cache failed the comparison
    std::chrono::steady_clock::time_point waiting_since;
    std::shared_ptr<const Error> error;
  };
  RemoteShards(std::shared_ptr<ObjectStore> store, const Manifest& manifest,
               std::uint64_t idle_bytes);
  void MakeData(const CachedShards& shards, const std::optional<BlockCache>& cache);

  std::uint64_t PieceOf(std::uint32_t shard, const ShardParts::Part& part) const;
  void Start(std::uint64_t piece, Live& live) REQUIRES(mutex_);
  enum class Cached {
    kComes,     // the piece is there, or is to be waited for: see live.state
    kMissing,   // this process has locked the piece, and must fetch it
    kBypassed,  // this process must fetch the piece for itself, past the cache
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
  void MakeEvictable(std::uint64_t piece, const Live& live) REQUIRES(mutex_);
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
  std::vector<std::uint64_t> bases_;        // by shard: offset in the mapping; then its size
  std::vector<std::uint64_t> first_piece_;  // by shard; then the number of all pieces
  std::vector<std::uint64_t> shard_bytes_;
  const std::uint64_t idle_bytes_;
  std::unique_ptr<SparseData> data_;

  mutable Mutex mutex_;
  Condition changed_;
  std::unordered_map<std::uint64_t, Live> live_ GUARDED_BY(mutex_);  // held or being fetched
  std::uint64_t live_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t most_live_bytes_ GUARDED_BY(mutex_) = 0;  // since live_ was last empty
  // Without a cache: the pieces that are not held, by next use.
  std::set<std::pair<std::uint64_t, std::uint64_t>> idle_ GUARDED_BY(mutex_);
  std::uint64_t idle_now_ GUARDED_BY(mutex_) = 0;          // bytes of the idle pieces
  std::vector<std::uint64_t> to_read_ GUARDED_BY(mutex_);  // pieces that the next Flush() requests
  std::list<std::shared_ptr<PieceFetch>> fetches_ GUARDED_BY(mutex_);  // requests under way
  std::vector<std::string> etags_ GUARDED_BY(mutex_);  // by shard; empty: not known yet
  // Ranges of shards that failed a check, and did so again when they were fetched again: they are
  // damaged in the store.
  std::set<std::pair<std::uint32_t, std::uint64_t>> damaged_ GUARDED_BY(mutex_);
  std::uint64_t tick_ GUARDED_BY(mutex_) = 0;  // counts uses after which the next one is unknown
  Counts counts_ GUARDED_BY(mutex_);
  std::optional<CacheRoom> room_;  // only with a cache; calls need the mutex
  LostPages lost_;                 // pages of the cache that the disk could not read
};

}  // namespace sluice
