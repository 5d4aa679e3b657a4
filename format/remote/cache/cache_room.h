// The room that a dataset has in a cache folder (CACHE.md), and the order in which pieces are given
// up to make it.
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

// Which pieces of a cache are needed last (Belady's rule), without a look at all of them for each
// one that is given up.
//
// When a piece is needed next stands in the table that processes share (SparseData::next_use), and
// each of them changes it. This keeps the pieces that were needed last when it looked at the whole
// table, and those that this process has let go of since. For a table of n pieces it looks again
// after n / 64 searches, which is 64 pieces for a search; only then does it learn what other
// processes have changed.
//
// Not thread-safe.
class EvictionOrder {
 public:
  // When piece i is needed next: next_uses[i]; 0: never give it up. Others change it meanwhile.
  EvictionOrder(const std::atomic<std::uint64_t>* next_uses, std::uint64_t pieces) noexcept
      : next_uses_(next_uses), pieces_(pieces) {}

  // The piece may be given up, or is needed at another time than before.
  void Add(std::uint64_t piece);

  // Call it before each search for a piece to give up.
  void Begin();
  // The piece needed last, if that is later than `than`. It is not given again until it is added
  // again, or the table is looked at again: if it cannot be given up now, ask once more.
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
    return next_uses_[piece].load(std::memory_order_relaxed);
  }
  void LookAtAll();
  void KeepLatest(std::size_t count);

  const std::atomic<std::uint64_t>* const next_uses_;
  const std::uint64_t pieces_;
  std::vector<Entry> heap_;  // the latest at the front; an entry may be out of date
  std::uint64_t floor_ = 0;  // pieces needed before that are left out
  std::uint64_t begun_ = 0;  // searches since the table was looked at
  bool looked_ = false;      // in this search
};

struct BlockCache {
  std::filesystem::path folder;
  std::uint64_t bytes = 0;  // the most that lies there, of all datasets
};

// The room that a dataset has in a cache folder (CACHE.md): makes it, by giving up datasets that no
// process uses and then the pieces that are needed last.
//
// Not thread-safe: RemoteShards has one, and uses it under its mutex.
class CacheRoom {
 public:
  // `id`: the dataset's. `data` must outlive it.
  CacheRoom(const BlockCache& cache, const std::string& id, SparseData& data)
      : cache_(cache),
        id_(id),
        data_(data),
        order_(data.next_uses(), data.pieces()),
        room_(cache.bytes) {}

  // Takes `bytes` at `offset` for a piece that this process has locked. False if everything there
  // is needed sooner, or if the disk is full. `in_use`: pieces that must stay.
  bool Reserve(std::uint64_t piece, std::uint64_t offset, std::uint64_t bytes,
               const std::function<bool(std::uint64_t piece)>& in_use);
  // Whether there is no room for another piece of the largest size reserved so far. Any thread may
  // ask.
  bool full() const noexcept { return data_.used() + at_once_ > room_; }
  // Room that was reserved is not used.
  void GiveBack(std::uint64_t bytes) { data_.used() -= bytes; }
  // This process does not use the piece any more, or knows anew when it is needed.
  void MayGiveUp(std::uint64_t piece) { order_.Add(piece); }

  // The hash that this process has seen a piece to have; 0: it has not compared it.
  std::uint64_t SeenHash(std::uint64_t piece) const {
    const auto seen = seen_.find(piece);
    return seen == seen_.end() ? 0 : seen->second;
  }
  void See(std::uint64_t piece, std::uint64_t hash) { seen_[piece] = hash; }

 private:
  bool GiveUpLatest(std::uint64_t than, const std::function<bool(std::uint64_t piece)>& in_use);
  std::uint64_t BytesOfOthers(std::uint64_t wanted);

  const BlockCache cache_;
  const std::string id_;
  SparseData& data_;
  EvictionOrder order_;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // piece -> hash
  std::atomic<std::uint64_t> room_;                        // of this dataset
  std::atomic<std::uint64_t> at_once_ = 0;                 // the most that was reserved at once
  std::uint64_t others_use_ = 0;
  std::uint64_t since_look_ = UINT64_MAX - 1;  // reservations; the first one looks
};

}  // namespace sluice
