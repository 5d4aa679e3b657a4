// Decodes one sample into its row of a slot. Each decoder thread has one.
#pragma once

#include <optional>
#include <utility>

#include "format/pixels/decode.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/compared_payloads.h"
#include "reader/decoding/field_reader.h"
#include "reader/device/jpeg_parcel.h"
#include "reader/reading/direct/direct_files.h"
#include "reader/reading/kept_pictures.h"
#include "reader/reading/shard_stage.h"
#include "reader/reading/stored_pictures.h"
#include "reader/transform/row_writer.h"
#include "reader/transform/shared_part.h"

namespace sluice {

// The places from which samples may be read and in which they may be kept; each may be null.
struct ReadingAids {
  DecodedStore* store = nullptr;           // LoaderOptions::keep, of pictures
  DecodedStore* rows = nullptr;            // the same, of rows behind the user's function
  const StoredPictures* stored = nullptr;  // OnDevice::images
  DirectFiles* direct = nullptr;           // LoaderOptions::storage = Direct
  ShardStage* stage = nullptr;             // LoaderOptions::stage
  // For Verify::kAuto and kFirstEpoch.
  ComparedPayloads* compared = nullptr;
  bool holds_blocks = false;  // BlockSource::holds_blocks()
};

class SampleDecoder {
 public:
  // All references must outlive the decoder.
  SampleDecoder(const BatchRecipe& recipe, const ReadingAids& aids);

  // Fills row `row` of the slot. False if the sample cannot be read; TakeError() then says why.
  bool Decode(Slot& slot, std::size_t row);
  // Prefetches into the CPU's cache what Decode() of that row will read, if that is known
  // beforehand.
  void Prefetch(const Slot& slot, std::size_t row) const noexcept;

  Error TakeError() noexcept {
    const auto fault = std::exchange(shard_fault_, nullptr);
    return fault == nullptr ? *error_ : *fault;
  }
  // Whether the reason is that the sample's shard cannot be opened.
  bool lacks_shard() const noexcept { return shard_fault_ != nullptr; }
  // Whether the sample may be whole, and this process has no memory left to read it with.
  bool lacks_memory() const noexcept {
    const Error* const error = lacks_shard() ? shard_fault_.get() : error_ ? &*error_ : nullptr;
    return error != nullptr && error->code() == ErrorCode::kMemory;
  }
  // Sets a reason other than reading why the sample fails.
  void Blame(const SampleRef& ref, ErrorCode code, const std::string& what) {
    error_ = Describe(ref, code, what);
  }
  // Empty if the key cannot be read.
  std::string KeyOf(const SampleRef& ref) const;

  // Whether the file still holds all bytes of the sample. Asks the file system once for each file
  // since LookAtFilesAnew(), and only if no checksum was compared. False: TakeError() says why.
  bool StillThere(const Slot& slot, std::size_t row);
  void LookAtFilesAnew() noexcept { looked_at_.clear(); }
  // If the row was read from a copy of its shard (LoaderOptions::stage), gives up the copy for the
  // shard itself. False if it was not.
  bool LeaveCopy(const Slot& slot, std::size_t row);

  std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }  // decoded so far

 private:
  // Decodes from one file; if `held` is not null, it has the bytes of the block.
  bool DecodeFrom(const ShardUse& shard, const HeldBlock* held, Slot& slot, std::size_t row);
  // Decodes from the shard itself, because the copy failed.
  bool DecodeFromOriginal(const ShardUse& copy, Slot& slot, std::size_t row);
  Defect Read(const ShardFile& shard, const HeldBlock* held, Slot& slot, std::size_t row);
  // Whether `source` could not read some of the bytes that the sample was made from.
  template <class Source>
  bool Lost(const Source& source, const BlockView& block, std::uint32_t row) const;
  Defect DecodeImage(const BlockView& block, Slot& slot, std::size_t row);
  // Whether to compare a payload of the current sample with its checksum.
  bool Verifies(const SampleRef& ref, bool raw);
  // Writes all views of the image; frames_ says what each shows.
  Defect WriteViews(const ImagePayload& payload, Slot& slot, std::size_t row, bool kept);
  // Leaves a view of the row to a device. False: the host must decode it. `stored`: where the
  // device finds the picture, if `at` is not null.
  bool Ship(const StoredPicture& stored, const ImagePayload& payload, Slot& slot, std::size_t view,
            std::size_t row);
  // Leaves all views of the row to a device that has the picture, of which no byte is read then.
  bool ShipStored(const ImagePayload& payload, Slot& slot, std::size_t row);
  void DrawOps(Slot& slot, std::size_t view, std::size_t row) const;
  // What a device is to do with a view of the row.
  std::span<PixelOp> OpsOf(Slot& slot, std::size_t view, std::size_t row) const;
  std::string PlaceOf(const SampleRef& ref) const;
  Error Describe(const SampleRef& ref, ErrorCode code, const std::string& what) const;

  // Reads a block that was not read ahead, for a source that holds blocks.
  std::shared_ptr<const HeldBlock> ReadNow(const SampleRef& ref, const ShardUse& shard);

  DatasetState& dataset_;
  const std::vector<ViewProgram>& views_;
  const SlotLayout& layout_;
  DirectFiles* const direct_;
  const bool holds_blocks_;
  ShardStage* const stage_;
  ComparedPayloads* const compared_;
  const Verify verify_;
  const ShardFile* file_ = nullptr;  // of the current sample
  PayloadDecoder decoder_;
  RowWriter writer_;
  SharedPart shared_;
  std::vector<Frame> frames_;  // of the current sample, by view
  KeptPictures pictures_;
  const StoredPictures* const stored_;
  JpegParcel parcel_;
  FieldReader fields_;
  std::optional<Error> error_;
  std::shared_ptr<const Error> shard_fault_;  // instead of `error_`
  Bytes payload_;                             // of the current sample
  std::vector<const ShardFile*> looked_at_;   // found whole
  std::uint64_t payload_bytes_ = 0;
  std::size_t raw_bytes_;    // of each image if all are raw and of one size; otherwise 0
  bool read_later_;          // rows will have left the caches when they are read
  bool unverified_ = false;  // a row was made without comparing any checksum
  // Of the current sample: its block was read without its image, because the store kept the
  // picture; and the store has lost it.
  bool lacks_image_ = false, needs_image_ = false;
  ErrorCode code_ = ErrorCode::kCorrupt;  // of the current sample's fault
  // Of the current sample: whether an earlier read compared all of it; empty until it matters.
  std::optional<bool> compared_before_;
};

}  // namespace sluice
