// All processes that use a dataset share a count of its reserved bytes. If the room is used up, the
// piece whose next use is furthest in the future is evicted, unless the new piece is needed even
// later (Belady's rule). Now and then the other datasets in the folder are examined; if the cache
// is full, those that no process uses are removed.
#include "format/remote/cache/cache_room.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/remote/cache/cache_folder.h"

namespace sluice {

namespace {

// The table of n pieces is scanned once in n / kPiecesPerSearch searches, so that a search costs
// this many pieces on average.
constexpr std::uint64_t kPiecesPerSearch = 64;
// The heap keeps the latest 16th of the pieces, and 4096 more. At most a 64th are evicted before
// the next scan of the table; but some of the latest pieces are in use and cannot be evicted.
constexpr std::uint64_t kShareKept = 16;
constexpr std::uint64_t kLeastKept = 4096;

}  // namespace

void EvictionOrder::Add(std::uint64_t piece) {
  const std::uint64_t next_use = NextUse(piece);
  if (next_use <= floor_) return;
  const std::size_t most = 2 * static_cast<std::size_t>(pieces_ / kShareKept + kLeastKept);
  if (heap_.size() >= most) KeepLatest(most / 2);
  heap_.push_back({next_use, piece});
  std::push_heap(heap_.begin(), heap_.end());
}

void EvictionOrder::Begin() {
  scanned_ = false;
  if (begun_++ % (pieces_ / kPiecesPerSearch + 1) == 0) ScanTable();
}

std::optional<std::uint64_t> EvictionOrder::TakeLatest(std::uint64_t than) {
  for (;;) {
    // A piece below the floor may also be needed later than `than`.
    if (heap_.empty() && floor_ > than && !scanned_) ScanTable();
    if (heap_.empty() || heap_.front().next_use <= than) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end());
    const Entry last = heap_.back();
    heap_.pop_back();
    const std::uint64_t now = NextUse(last.piece);
    if (now == last.next_use) return last.piece;
    Add(last.piece);  // a process has used or evicted it meanwhile
  }
}

void EvictionOrder::ScanTable() {
  const std::size_t most = static_cast<std::size_t>(pieces_ / kShareKept + kLeastKept);
  scanned_ = true;
  begun_ = 1;
  floor_ = 0;
  heap_.clear();
  for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
    const std::uint64_t next_use = NextUse(piece);
    if (next_use <= floor_) continue;
    heap_.push_back({next_use, piece});
    if (heap_.size() == 2 * most) KeepLatest(most);
  }
  std::make_heap(heap_.begin(), heap_.end());
}

void EvictionOrder::KeepLatest(std::size_t count) {
  const auto end = heap_.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(heap_.begin(), end, heap_.end(),
                   [](const Entry& a, const Entry& b) { return b < a; });
  floor_ = end->next_use;
  heap_.erase(end, heap_.end());
  std::make_heap(heap_.begin(), heap_.end());
}

bool CacheRoom::Reserve(std::uint64_t piece, std::uint64_t offset, std::uint64_t bytes,
                        const std::function<bool(std::uint64_t piece)>& in_use) {
  const std::uint64_t others = BytesOfOthers(data_.used() + bytes);
  const std::uint64_t room = cache_.bytes - std::min(cache_.bytes, others);
  room_ = room;
  at_once_ = std::max(at_once_.load(), bytes);
  if (bytes > room) return false;
  const std::uint64_t next_use = data_.next_use(piece).load(std::memory_order_relaxed);
  // Other processes reserve, too. The count that they see never exceeds the room.
  std::uint64_t used = 0;
  do {
    while ((used = data_.used().load()) > room - bytes) {
      if (!EvictLatest(next_use, in_use)) return false;
    }
  } while (!data_.used().compare_exchange_weak(used, used + bytes));
  if (data_.Allocate(offset, bytes)) return true;
  GiveBack(bytes);
  return false;
}

// The bytes that the other datasets in the folder use. Now and then examines these datasets (which
// opens a few files); if they and `wanted` bytes do not fit, removes some that no process uses.
std::uint64_t CacheRoom::BytesOfOthers(std::uint64_t wanted) {
  constexpr std::uint64_t kLookAtOthers = 64;
  constexpr std::uint64_t kLookWhenFull = 16;
  const bool full = others_use_ > 0 && wanted + others_use_ > cache_.bytes;
  if (++since_look_ >= (full ? kLookWhenFull : kLookAtOthers)) {
    since_look_ = 0;
    try {
      // While another process has the lock, the last known number is used.
      if (const std::optional<CacheLock> lock = CacheLock::Try(data_.root()))
        others_use_ = TrimCache(*lock, data_.name(), cache_.bytes - std::min(cache_.bytes, wanted));
    } catch (const Error&) {
      others_use_ = cache_.bytes;  // the folder is gone, or no longer ours
    }
  }
  return others_use_;
}

// Evicts the latest piece that can be evicted, if it is needed later than `than`.
bool CacheRoom::EvictLatest(std::uint64_t than,
                            const std::function<bool(std::uint64_t piece)>& in_use) {
  std::vector<std::uint64_t> of_others;  // pieces in use by other processes
  bool evicted = false;
  order_.Begin();
  while (!evicted) {
    const std::optional<std::uint64_t> latest = order_.TakeLatest(than);
    if (!latest) break;
    if (in_use(*latest)) continue;  // the piece is added again once it is not in use
    if (!data_.Lock(*latest, FileHold::kExclusive)) {
      of_others.push_back(*latest);
      continue;
    }
    const auto found = data_.Find(*latest);
    data_.Drop(*latest);
    if (found) GiveBack(found->bytes);
    seen_.erase(*latest);
    data_.Lock(*latest, FileHold::kNone);
    evicted = found.has_value();
  }
  for (const std::uint64_t piece : of_others)
    order_.Add(piece);
  return evicted;
}

}  // namespace sluice
