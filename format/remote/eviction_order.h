// Which pieces of a cache are needed last (Belady's rule), without a look at all of them for each
// one that is given up.
//
// When a piece is needed next stands in the table that processes share (SparseData::next_use), and
// each of them changes it. This keeps the pieces that were needed last when it looked at the whole
// table, and those that this process has let go of since. It looks again after one call in 64th of
// the pieces, so a call looks at 64 pieces on the average; what other processes change meanwhile it
// learns then.
//
// Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

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

}  // namespace sluice
