// Rows kept as the user's sample_function left them (DecodedPictures::function_is_deterministic): a
// kept sample is neither read nor decoded again, and the function is not called for it.
//
// Each worker thread has one; they share the store.
#pragma once

#include <vector>

#include "reader/batch/slot.h"
#include "reader/reading/decoded_store.h"

namespace sluice {

class KeptRows {
 public:
  // `store` may be null: nothing is kept then.
  explicit KeptRows(DecodedStore* store) noexcept : store_(store) {}

  // Fills the row if its sample is kept; the row then has no file.
  bool Restore(Slot& slot, std::size_t row);
  // Keeps the row, unless it was restored, or there is no room. Its sample must have been read
  // whole.
  void Keep(Slot& slot, std::size_t row);

 private:
  DecodedStore* store_;
  std::vector<std::byte> read_;  // from a file
  std::vector<std::byte> row_;   // on its way to the store
};

}  // namespace sluice
