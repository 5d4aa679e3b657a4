// LoaderOptions::share: a decoder thread takes rows from loaders of other processes, and hands them
// its own.
//
// If another thread is already making the row, this thread waits for it, but only about four times
// as long as it takes to make a row, and 0.1 s at most: the maker may have been stopped or killed.
// Rows are handed over once their bytes are known to be right. A cache is named after everything
// that a row's content depends on, so loaders whose rows differ use different caches.
#pragma once

#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/stage_clock.h"
#include "reader/reading/shared_row_cache.h"

namespace sluice {

class SharedRowUse {
 public:
  // The cache for a loader's rows; null if LoaderOptions::share is empty. Throws Error.
  static std::unique_ptr<SharedRowCache> Open(const BatchRecipe& recipe);

  // `cache` may be null: nothing is shared then.
  explicit SharedRowUse(SharedRowCache* cache) noexcept : cache_(cache) {}
  ~SharedRowUse() { GiveUpAll(); }
  SharedRowUse(const SharedRowUse&) = delete;
  SharedRowUse& operator=(const SharedRowUse&) = delete;

  // If another loader has made the row, fills it, sets slot.files[row] to null, and returns true.
  // If not, this thread must make the row, and usually gets a claim to hand it over.
  bool Take(Slot& slot, std::size_t row);
  // Hands over a row that this thread has made, if it has a claim to it.
  void Put(Slot& slot, std::size_t row);
  // Gives up the claims for which Put() was not called, so that other loaders can make these rows.
  void GiveUpAll() noexcept;

 private:
  // A row that this thread is to make for the cache.
  struct Claim {
    SharedRowCache::RowName name;
    Clock::time_point since;
  };

  SharedRowCache* cache_;
  std::vector<Claim> claims_;
  double row_seconds_ = 0;  // the mean time that it takes to make a row; 0: none made yet
};

}  // namespace sluice
