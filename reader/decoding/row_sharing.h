// LoaderOptions::share: a decoder thread takes rows from loaders of other processes, and hands them
// its own.
//
// A thread that finds its row in the making waits for it, but not much longer than it would take to
// make the row: the maker may have been stopped or killed. Rows are handed over once their bytes
// are known to be right. What decides the content of a row is the store's identity, so loaders
// that make other rows use other stores.
#pragma once

#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/stage_clock.h"
#include "reader/reading/row_store.h"

namespace sluice {

class RowSharing {
 public:
  // The store for a loader's rows; null if LoaderOptions::share is empty. Throws Error.
  static std::unique_ptr<RowStore> Open(const BatchRecipe& recipe);

  // `store` may be null: nothing is shared then.
  explicit RowSharing(RowStore* store) noexcept : store_(store) {}
  ~RowSharing() { GiveUpAll(); }
  RowSharing(const RowSharing&) = delete;
  RowSharing& operator=(const RowSharing&) = delete;

  // Fills the row if another loader has made it; the row then has no file.
  bool Take(Slot& slot, std::size_t row);
  // Hands over a row that was made after Take() returned false.
  void Put(Slot& slot, std::size_t row);
  // Leaves all rows that were neither taken nor put to other loaders.
  void GiveUpAll() noexcept;

 private:
  // Rows that this thread is to make for the store.
  struct Claim {
    RowStore::RowName name;
    Clock::time_point since;
  };

  RowStore* store_;
  std::vector<Claim> claims_;
  double row_seconds_ = 0;  // that it takes to make a row
};

}  // namespace sluice
