// Makes sure that only one thread at a time consumes a range: see EpochIterator.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include <sluice/error.h>

namespace sluice {

class OneConsumer {
 public:
  // Identifies an iterator's walk through a range; null if the caller is not an iterator.
  using Walk = std::shared_ptr<const char>;

  // Throws Error(kState) unless the calling thread may take a step of that range.
  void Require(std::uint64_t range, const Walk& walk) const {
    const Walk other = walk_.lock();
    const bool walks = other != nullptr && other != walk && walker_ != std::this_thread::get_id();
    if (stepping_ != range && !walks) return;
    throw Error(
        ErrorCode::kState,
        "another thread is playing this range (EpochRange), and only one thread at a time may; "
        "give each thread its own Loader, or let one thread step and pass its batches to the "
        "others: any thread may hold a Batch");
  }
  // The walk that took the last step is over.
  void EndWalk() noexcept { walk_.reset(); }

  void Begin(std::uint64_t range, const Walk& walk) noexcept {
    stepping_ = range;
    walk_ = walk;
    walker_ = std::this_thread::get_id();
  }
  void End(std::uint64_t range) noexcept {
    if (stepping_ == range) stepping_ = 0;
  }

 private:
  std::uint64_t stepping_ = 0;  // the range in which a thread is taking a step now; 0: none
  std::weak_ptr<const char> walk_;
  std::thread::id walker_;
};

}  // namespace sluice
