// The room that a dataset has in a cache folder (CACHE.md), and the order in which pieces are
// evicted to make room.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/remote/cache/sparse_data.h"

namespace sluice {

// Finds the pieces of a cache whose next use is furthest in the future (Belady's rule), without a
// scan of all pieces for each eviction. They are "the latest" below.
//
// The table that processes share (SparseData::next_use) says when each piece is needed next; each
// process may change it. This object keeps the pieces that were the latest when it scanned the
// whole table, and those that this process has released since. For a table of n pieces it scans
// again after n / 64 searches, so a search costs 64 pieces on average. Only a scan shows what other
// processes have changed.
//
// Not thread-safe.
class EvictionOrder {
 public:
  // next_uses[i * stride]: when piece i is needed next; 0: never evict it. Other processes change
  // the array meanwhile.
  EvictionOrder(const std::atomic<std::uint64_t>* next_uses, std::uint64_t pieces,
                std::size_t stride = 1) noexcept
      : next_uses_(next_uses), pieces_(pieces), stride_(stride) {}

  // Notes that the piece may be evicted, or that its next use has changed.
  void Add(std::uint64_t piece);

  // Call it before each search for a piece to evict.
  void Begin();
  // Returns the latest piece, if it is needed later than `than`. Does not return the same piece
  // again until it is added again or the table is scanned. If the piece cannot be evicted now, call
  // this function once more for another one.
  std::optional<std::uint64_t> TakeLatest(std::uint64_t than);

 private:
  struct Entry {
    std::uint64_t next_use;
    std::uint64_t piece;
    bool operator<(const Entry& other) const noexcept {
      return next_use != other.next_use ? next_use < other.next_use : piece > other.piece;
    }
  };
  std::uint64_t NextUse(std::uint64_t piece) const noexcept {
    return next_uses_[piece * stride_].load(std::memory_order_relaxed);
  }
  void ScanTable();
  void KeepLatest(std::size_t count);

  const std::atomic<std::uint64_t>* const next_uses_;
  const std::uint64_t pieces_;
  const std::size_t stride_;
  std::vector<Entry> heap_;  // the latest at the front; entries may be outdated
  std::uint64_t floor_ = 0;  // pieces needed before this are left out
  std::uint64_t begun_ = 0;  // searches since the last scan of the table
  bool scanned_ = false;     // whether this search has scanned the table
};

struct BlockCache {
  std::filesystem::path folder;
  std::uint64_t bytes = 0;  // the limit for all datasets together
};

// The room that a dataset has in a cache folder (CACHE.md). Makes room by removing datasets that no
// process uses, and then by evicting the pieces whose next use is furthest in the future.
//
// Not thread-safe: RemoteShards owns one and uses it under its mutex.
class CacheRoom {
 public:
  // `data` must outlive this object.
  CacheRoom(const BlockCache& cache, SparseData& data)
      : cache_(cache),
        data_(data),
        order_(data.next_uses(), data.pieces(), data.next_use_stride()),
        room_(cache.bytes) {}

  // Reserves `bytes` at `offset` for a piece that this process has locked. Returns false if
  // everything there is needed sooner, or if the disk is full. `in_use`: pieces that must stay.
  bool Reserve(std::uint64_t piece, std::uint64_t offset, std::uint64_t bytes,
               const std::function<bool(std::uint64_t piece)>& in_use);
  // Whether another piece of the largest size reserved so far finds no room. Thread-safe.
  bool full() const noexcept { return data_.used() + at_once_ > room_; }
  // Gives back room that was reserved but not used.
  void GiveBack(std::uint64_t bytes) { data_.used() -= bytes; }
  // Notes that this process no longer uses the piece, or that the piece's next use has changed.
  void AllowEviction(std::uint64_t piece) { order_.Add(piece); }

  // The hash that this process has found a piece to have; 0: it has not computed the hash yet.
  std::uint64_t SeenHash(std::uint64_t piece) const {
    const auto seen = seen_.find(piece);
    return seen == seen_.end() ? 0 : seen->second;
  }
  void See(std::uint64_t piece, std::uint64_t hash) { seen_[piece] = hash; }

 private:
  bool EvictLatest(std::uint64_t than, const std::function<bool(std::uint64_t piece)>& in_use);
  std::uint64_t BytesOfOthers(std::uint64_t wanted);

  const BlockCache cache_;
  SparseData& data_;
  EvictionOrder order_;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // piece -> hash
  std::atomic<std::uint64_t> room_;                        // bytes that this dataset may use
  std::atomic<std::uint64_t> at_once_ = 0;                 // the largest single reservation
  std::uint64_t others_use_ = 0;  // bytes of the other datasets, when they were last examined
  // Reservations since the other datasets were examined. Large, so that the first one examines
  // them.
  std::uint64_t since_look_ = UINT64_MAX - 1;
};

}  // namespace sluice
