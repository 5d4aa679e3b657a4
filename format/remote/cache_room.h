// The room that a dataset has in a cache folder (CACHE.md): makes it, by giving up datasets that no
// process uses and then the pieces that are needed last.
//
// Not thread-safe: one of RemoteShards, used under its mutex.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <unordered_map>

#include "format/remote/eviction_order.h"
#include "format/remote/sparse_data.h"

namespace sluice {

struct BlockCache {
  std::filesystem::path folder;
  std::uint64_t bytes = 0;  // the most that lies there, of all datasets
};

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
  // Whether what was reserved last has filled it: the next one of that size has no room. Any thread
  // may ask.
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
