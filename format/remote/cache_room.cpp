#include "format/remote/cache_room.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/remote/cache_folder.h"

namespace sluice {

bool CacheRoom::Reserve(std::uint64_t piece, std::uint64_t offset, std::uint64_t bytes,
                        const std::function<bool(std::uint64_t piece)>& in_use) {
  const std::uint64_t others = BytesOfOthers(data_.used() + bytes);
  const std::uint64_t room = cache_.bytes - std::min(cache_.bytes, others);
  room_ = room;
  at_once_ = std::max(at_once_.load(), bytes);
  if (bytes > room) return false;
  const std::uint64_t next_use = data_.next_use(piece).load(std::memory_order_relaxed);
  // Other processes reserve too; what they see in use is never more than the room.
  std::uint64_t used = 0;
  do {
    while ((used = data_.used().load()) > room - bytes) {
      if (!GiveUpLatest(next_use, in_use)) return false;
    }
  } while (!data_.used().compare_exchange_weak(used, used + bytes));
  if (data_.Allocate(offset, bytes)) return true;
  GiveBack(bytes);
  return false;
}

// What other datasets in the folder use. Now and then looks at them, and removes those that can go:
// that is a few files to open.
std::uint64_t CacheRoom::BytesOfOthers(std::uint64_t wanted) {
  constexpr std::uint64_t kLookAtOthers = 64;
  constexpr std::uint64_t kLookWhenFull = 16;
  const bool full = others_use_ > 0 && wanted + others_use_ > cache_.bytes;
  if (++since_look_ >= (full ? kLookWhenFull : kLookAtOthers)) {
    since_look_ = 0;
    try {
      // While another process has the lock, what was seen last must do.
      if (const std::optional<CacheLock> lock = CacheLock::Try(data_.root()))
        others_use_ = TrimCache(*lock, id_, cache_.bytes - std::min(cache_.bytes, wanted));
    } catch (const Error&) {
      others_use_ = cache_.bytes;  // the folder is gone or not ours any more
    }
  }
  return others_use_;
}

// Gives up the piece needed last, if that is later than `than`.
bool CacheRoom::GiveUpLatest(std::uint64_t than,
                             const std::function<bool(std::uint64_t piece)>& in_use) {
  std::vector<std::uint64_t> of_others;  // pieces that other processes use
  bool given_up = false;
  order_.Begin();
  while (!given_up) {
    const std::optional<std::uint64_t> latest = order_.TakeLatest(than);
    if (!latest) break;
    if (in_use(*latest)) continue;  // added again once it is not
    if (!data_.Lock(*latest, SparseData::Hold::kExclusive)) {
      of_others.push_back(*latest);
      continue;
    }
    const auto found = data_.Find(*latest);
    data_.Drop(*latest);
    if (found) GiveBack(found->bytes);
    seen_.erase(*latest);
    data_.Lock(*latest, SparseData::Hold::kNone);
    given_up = found.has_value();
  }
  for (const std::uint64_t piece : of_others)
    order_.Add(piece);
  return given_up;
}

}  // namespace sluice
