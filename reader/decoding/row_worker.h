// Decodes runs of rows of a slot, and treats rows that cannot be decoded as
// LoaderOptions::integrity.on_fault says. Each decoder thread has one.
#pragma once

#include <span>

#include "reader/batch/batch_recipe.h"
#include "reader/decoding/decoding_costs.h"
#include "reader/decoding/fault_log.h"
#include "reader/decoding/kept_rows.h"
#include "reader/decoding/plain_copy.h"
#include "reader/decoding/sample_decoder.h"
#include "reader/decoding/substitutes.h"

namespace sluice {

class RowWorker {
 public:
  // All references must outlive it.
  RowWorker(const BatchRecipe& recipe, const ReadingAids& aids, FaultLog& faults)
      : dataset_(recipe.dataset),
        options_(recipe.options),
        program_(recipe.program),
        faults_(faults),
        decoder_(recipe, aids),
        substitutes_(dataset_, options_),
        kept_(aids.rows) {
    if (aids.holds_blocks || !PlainCopy::Serves(recipe)) return;
    plain_.emplace(recipe, options_.integrity.verify == Verify::kNever ? nullptr : aids.compared);
  }

  struct Outcome {
    std::size_t left_out = 0;           // rows marked kLeftOut
    std::size_t failed_row = SIZE_MAX;  // the first row that makes the batch fail,
    std::optional<Error> error;         // and why
    DecodingCosts costs;                // DecodeOn::kAuto
  };
  // Fills rows begin .. end - 1. Stops early if the slot is abandoned or a row fails.
  Outcome Work(Slot& slot, std::size_t begin, std::size_t end);

  // Finishes a batch whose rows are done: closes it, mixes it, and calls the user's batch_function.
  // Returns why the batch fails, if it does. If a device is still to decode pictures of the batch,
  // it is Settle()d instead, later; but if a row is left out, the host decodes them now.
  std::optional<Error> Close(Slot& slot);
  // Finishes a batch after a device has decoded its pictures, except those of `refused` rows, which
  // the host decodes.
  std::optional<Error> Settle(Slot& slot, std::span<const std::size_t> refused);

  // Calls LoaderOptions::thread_setup, if there is one. Throws Error.
  void SetUp(unsigned thread);

  // So far.
  std::uint64_t payload_bytes() const noexcept {
    return decoder_.payload_bytes() + (plain_ ? plain_->payload_bytes() : 0);
  }

 private:
  // Work() for the rows of one step.
  bool WorkStep(Slot& slot, std::size_t begin, std::size_t end, Outcome& outcome);
  // Whether the row was copied: there is nothing left to do for it.
  bool Copied(std::size_t row) const noexcept { return plain_ && plain_->Filled(row); }
  // Decodes on the host what a device was to decode, of a row or of all rows. Returns why the batch
  // fails, if it does.
  std::optional<Error> DecodeHere(Slot& slot, std::size_t row);
  std::optional<Error> DecodeAllHere(Slot& slot);
  std::optional<Error> CloseHere(Slot& slot);
  // Treats a row that failed. Returns whether it has a substitute or is left out; if not, `outcome`
  // says why.
  bool TreatFault(Slot& slot, std::size_t row, Outcome& outcome);
  bool Substitute(Slot& slot, std::size_t row);
  // Decodes the row and calls the user's sample_function; or takes what is kept of that.
  bool Fill(Slot& slot, std::size_t row);
  bool Decode(Slot& slot, std::size_t row);
  // Whether the row's file still held its bytes when it was decoded, or the row could be decoded
  // again.
  bool StillThere(Slot& slot, std::size_t row);

  // Calls the user's function. Returns what is wrong, if anything is.
  template <class Rows>
  std::optional<Error> Call(const std::function<void(Rows&)>& function, const char* which,
                            Rows&& rows);

  DatasetState& dataset_;
  const LoaderOptions& options_;
  const BatchProgram& program_;
  FaultLog& faults_;
  SampleDecoder decoder_;
  std::optional<PlainCopy> plain_;
  Substitutes substitutes_;
  KeptRows kept_;
  MutableRows::Memory user_memory_;
  std::vector<std::uint8_t> mix_scratch_;
  DecodingCosts costs_;     // of the rows of one Work()
  bool kept_rows_ = false;  // the user's function called last kept its rows' memory
};

}  // namespace sluice
