#include "format/remote/eviction_order.h"

#include <algorithm>

namespace sluice {

namespace {

constexpr std::uint64_t kPiecesForEach = 64;
// So many of the latest pieces are kept, of which far fewer are given up before the next look; but
// those in use are among the latest, too.
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
  looked_ = false;
  if (begun_++ % (pieces_ / kPiecesForEach + 1) == 0) LookAtAll();
}

std::optional<std::uint64_t> EvictionOrder::TakeLatest(std::uint64_t than) {
  for (;;) {
    // What the floor left out may be later than `than`, too.
    if (heap_.empty() && floor_ > than && !looked_) LookAtAll();
    if (heap_.empty() || heap_.front().next_use <= than) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end());
    const Entry last = heap_.back();
    heap_.pop_back();
    const std::uint64_t now = NextUse(last.piece);
    if (now == last.next_use) return last.piece;
    Add(last.piece);  // a process has used it, or given it up
  }
}

void EvictionOrder::LookAtAll() {
  const std::size_t most = static_cast<std::size_t>(pieces_ / kShareKept + kLeastKept);
  looked_ = true;
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

}  // namespace sluice
