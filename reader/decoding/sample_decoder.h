// One sample into its row of a slot: what the worker threads do. Each has one of these.
#pragma once

#include <optional>
#include <utility>

#include "format/pixels/decode.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/compared_payloads.h"
#include "reader/decoding/field_reader.h"
#include "reader/reading/direct/direct_files.h"
#include "reader/reading/kept_pictures.h"
#include "reader/reading/shard_stage.h"
#include "reader/transform/row_writer.h"
#include "reader/transform/shared_part.h"

namespace sluice {

// What samples may be read by and kept in; each may be null.
struct ReadingAids {
  DecodedStore* store = nullptr;  // LoaderOptions::keep
  DirectFiles* direct = nullptr;  // LoaderOptions::storage = Direct
  ShardStage* stage = nullptr;    // LoaderOptions::stage
  // Of Verify::kAuto and kFirstEpoch.
  ComparedPayloads* compared = nullptr;
};

class SampleDecoder {
 public:
  // All references must outlive the decoder.
  SampleDecoder(const BatchRecipe& recipe, const ReadingAids& aids);

  // Fills row `row` of the slot. False if the sample cannot be had; TakeError() then says why.
  bool Decode(Slot& slot, std::size_t row);
  // Has the processor fetch what Decode() of that row will read, where that is known beforehand.
  void Prefetch(const Slot& slot, std::size_t row) const noexcept;

  // Taken, not copied: copies of an exception share their text, and this one goes to another
  // thread.
  Error TakeError() {
    const auto fault = std::exchange(shard_fault_, nullptr);
    return fault == nullptr
               ? std::move(*error_)
               : Error(fault->code(), fault->file(), fault->place(), fault->sentence());
  }
  // Whether the reason is that the sample's shard cannot be opened, as none of its samples then.
  bool lacks_shard() const noexcept { return shard_fault_ != nullptr; }
  // Makes something else than reading the reason why the sample cannot be had.
  void Blame(const SampleRef& ref, ErrorCode code, const std::string& what) {
    error_ = Describe(ref, code, what);
  }
  // Empty where it cannot be read.
  std::string KeyOf(const SampleRef& ref) const;

  // Whether the sample's file still holds it. Asks the file system once for each file since
  // LookAtFilesAnew(), and only where no checksum answers that. False: TakeError() says why.
  bool StillThere(const Slot& slot, std::size_t row);
  void LookAtFilesAnew() noexcept { looked_at_.clear(); }
  // If the row was read from a copy of its shard (LoaderOptions::stage), that is given up for the
  // shard itself. False where it was not.
  bool LeaveCopy(const Slot& slot, std::size_t row);

  std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }  // decoded so far

 private:
  // From one file; `held`, where it is not null, has its bytes.
  bool DecodeFrom(const ShardUse& shard, const HeldBlock* held, Slot& slot, std::size_t row);
  // The copy did not give it.
  bool DecodeFromOriginal(const ShardUse& copy, Slot& slot, std::size_t row);
  Defect Read(const ShardFile& shard, const HeldBlock* held, Slot& slot, std::size_t row);
  // Whether anything that the sample was made from was not there: `source` knows.
  template <class Source>
  bool Lost(const Source& source, const BlockView& block, std::uint32_t row) const;
  Defect DecodeImage(const BlockView& block, Slot& slot, std::size_t row);
  // Whether a payload of the sample in hand is to be compared with its checksum.
  bool Verifies(const SampleRef& ref, bool raw);
  // All views of the image, of which frames_ says what they show.
  Defect WriteViews(const ImagePayload& payload, Slot& slot, std::size_t row, bool kept);
  // Where a view lies in the slot.
  struct ViewRow {
    const ImageBatch* image;
    std::uint8_t* data;
    std::span<PixelOp> ops;  // what a device is to do
  };
  ViewRow RowOf(Slot& slot, std::size_t view, std::size_t row) const;
  std::string PlaceOf(const SampleRef& ref) const;
  Error Describe(const SampleRef& ref, ErrorCode code, const std::string& what) const;

  DatasetState& dataset_;
  const std::vector<ViewProgram>& views_;
  const SlotLayout& layout_;
  DirectFiles* const direct_;
  ShardStage* const stage_;
  ComparedPayloads* const compared_;
  const Verify verify_;
  const ShardFile* file_ = nullptr;  // of the sample in hand
  PayloadDecoder decoder_;
  RowWriter writer_;
  SharedPart shared_;
  std::vector<Frame> frames_;  // of the sample in hand, by view
  KeptPictures pictures_;
  FieldReader fields_;
  std::optional<Error> error_;
  std::shared_ptr<const Error> shard_fault_;  // instead of `error_`
  Bytes payload_;                             // of the sample in hand
  std::vector<const ShardFile*> looked_at_;   // that were whole
  std::uint64_t payload_bytes_ = 0;
  std::size_t raw_bytes_;    // of each image, where all are raw and of one size; else 0
  bool read_later_;          // rows: when they are read, they are in no cache
  bool unverified_ = false;  // a row was made of which nothing had been compared
  // Of the sample in hand: its block was read without its image, which was kept; and that is gone.
  bool lacks_image_ = false, needs_image_ = false;
  ErrorCode code_ = ErrorCode::kCorrupt;  // of what is wrong with it
  // Of the sample in hand: whether all of it was compared before; empty until that is asked.
  std::optional<bool> compared_before_;
};

}  // namespace sluice
