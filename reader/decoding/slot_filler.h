// Fills runs of rows of a slot, and treats rows that cannot be made as
// LoaderOptions::integrity.on_fault says. Each decoder thread has one filler.
//
// A row is taken from the cache of rows (CachedRows), or from another loader (SharedRowUse); or
// copied (PlainCopy); or read (SampleReader), given its OneHot target, and passed to the user's
// sample_function. If no checksum was compared for some row of a run, the filler checks at the end
// of the run that no file was cut meanwhile. A faulty row is left out, gets another sample
// (Substitutes), or fails the batch.
#pragma once

#include <span>
#include <vector>

#include "reader/batch/batch_recipe.h"
#include "reader/decoding/decoded_picture_use.h"
#include "reader/decoding/faults.h"
#include "reader/decoding/plain_copy.h"
#include "reader/decoding/sample_reader.h"
#include "reader/decoding/shared_row_use.h"
#include "reader/decoding/stage_clock.h"

namespace sluice {

class SlotFiller {
 public:
  // All references must outlive it.
  SlotFiller(const BatchRecipe& recipe, const DecodingContext& context, FaultLog& faults);

  struct Outcome {
    std::size_t left_out = 0;           // rows marked kLeftOut
    std::size_t failed_row = SIZE_MAX;  // the first row that makes the batch fail
    std::optional<Error> error;         // why the batch fails
    DecodingCosts costs;                // measured for DecodeOn::kAuto
  };
  // Fills rows begin .. end - 1. Stops early if the slot is abandoned or a row fails.
  Outcome Fill(Slot& slot, std::size_t begin, std::size_t end);

  // Finishes a batch whose rows are done: closes it, mixes it, and calls the user's batch_function.
  // Returns why the batch fails, if it does. If a device has yet to decode pictures of the batch,
  // does nothing: CloseDecoded() finishes the batch later. But if a row was left out, the host
  // decodes these pictures now.
  std::optional<Error> Close(Slot& slot);
  // Finishes a batch after a device has decoded its pictures, except those of `refused` rows, which
  // the host decodes.
  std::optional<Error> CloseDecoded(Slot& slot, std::span<const std::size_t> refused);

  // Calls LoaderOptions::thread_setup, if there is one. Throws Error.
  void SetUp(unsigned thread);

  // Bytes of memory that a filler's thread takes at most.
  static std::uint64_t MemoryBytes(const BatchRecipe& recipe);

  // Sets whether Fill() times each row from now on. It should do so only if rows take so long that
  // timing them costs hardly anything; if rows can be copied, it never does.
  void TimeRows(bool each) noexcept { times_rows_ = each && !plain_; }
  // Makes the next Fill() add the time of each part of its work to `times`. Null: no longer.
  void TimeParts(PartTimes* times) noexcept {
    times_ = times;
    reader_.TimeParts(times);
  }
  // The seconds that each row of the last Fill() took, if it timed them; else empty.
  std::span<const double> row_seconds() const noexcept { return row_seconds_; }

  // Counts of the payloads so far. Copied rows count in `bytes`, but not in the counts of pixels.
  SampleReader::Decoded decoded() const noexcept {
    SampleReader::Decoded decoded = reader_.decoded();
    if (plain_) decoded.bytes += plain_->payload_bytes();
    return decoded;
  }

 private:
  // Fill() for a part of the rows: at most PlainCopy::kMaxRows if rows can be copied, else all.
  bool FillStep(Slot& slot, std::size_t begin, std::size_t end, Outcome& outcome);
  // Whether the row was copied: there is nothing left to do for it.
  bool Copied(std::size_t row) const noexcept { return plain_ && plain_->Filled(row); }
  // Decodes on the host what a device was to decode, of a row or of all rows. Returns why the batch
  // fails, if it does.
  std::optional<Error> DecodeHere(Slot& slot, std::size_t row);
  std::optional<Error> DecodeAllHere(Slot& slot);
  std::optional<Error> CloseHere(Slot& slot);
  // Treats a row that could not be made. Returns whether it has a substitute or is left out; if
  // not, `outcome` says why.
  bool TreatFault(Slot& slot, std::size_t row, const RowVerdict& verdict, Outcome& outcome);
  bool Substitute(Slot& slot, std::size_t row, std::size_t part);
  void NoteFault(const Slot& slot, const SampleRef& ref, const RowVerdict& verdict);
  // Gives up the memory of the blocks of the row.
  static void DropBlocks(Slot& slot, std::size_t row);
  // The shard that the error is about: the sample's, or one of a column.
  std::string FaultyShard(const SampleRef& ref, const Error& error) const;
  // Makes the row: takes it from the cache of rows or from another loader, or reads it and calls
  // the user's sample_function.
  RowVerdict MakeRow(Slot& slot, std::size_t row);
  RowVerdict Read(Slot& slot, std::size_t row);
  // Checks that the row's file still held its bytes when they were read.
  RowVerdict CheckFile(Slot& slot, std::size_t row);
  RowVerdict Failure(const Slot& slot, std::size_t row, ErrorCode code,
                     const std::string& what) const;

  // Calls the user's function. Returns why it failed, if it did. Sets `memory_kept` to whether the
  // function has kept the memory of the rows.
  template <class Rows>
  std::optional<Error> Call(const std::function<void(Rows&)>& function, const char* which,
                            Rows&& rows, bool& memory_kept);

  DatasetState& dataset_;
  const LoaderOptions& options_;
  const BatchProgram& program_;
  FaultLog& faults_;
  SampleReader reader_;
  std::optional<PlainCopy> plain_;
  Substitutes substitutes_;
  CachedRows cached_;
  SharedRowUse shared_;
  FileCheck files_;
  MutableRows::Memory user_memory_;
  BatchProgram::MixScratch mix_scratch_;
  DecodingCosts costs_;              // of the rows of one Fill()
  std::vector<double> row_seconds_;  // see row_seconds()
  PartTimes* times_ = nullptr;
  bool times_rows_ = false;
  Clock::time_point row_begun_;  // when the row that is being made was begun; only if times_rows_
};

}  // namespace sluice
