// Reads one sample into its row of a slot.
//
// A sample's bytes lie in its block: in a mapping of its shard, or in memory that holds the block
// (LoaderOptions::storage = Direct, and datasets in an object store). Read() finds the block,
// copies arrays, has the picture painted (PicturePainter) and the other fields read (FieldReader).
// Only then does it know whether the bytes were whole: pages of a mapping can vanish at any moment,
// and read as zeros then, which may even decode to a good picture. Hence the order in ReadFrom():
// hold a guard, make the row, ask what was lost. A block that was read without its picture, because
// a cache had the picture and has lost it since, is read again.
//
// A fault is a value (RowVerdict). The caller (SlotFiller) decides what becomes of the row.
#pragma once

#include <optional>

#include "format/pixels/decode.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/compared_payloads.h"
#include "reader/decoding/field_reader.h"
#include "reader/decoding/picture_painter.h"
#include "reader/reading/direct/direct_blocks.h"
#include "reader/reading/shared_row_cache.h"

namespace sluice {

// The objects that a loader's decoder threads share. A pointer is null if its option is off.
struct DecodingContext {
  DirectFiles* direct = nullptr;                                // LoaderOptions::storage = Direct
  ComparedPayloads* compared = nullptr;                         // Verify::kAuto
  DecodedPictureCache* decoded_pictures = nullptr;              // LoaderOptions::keep
  SharedRowCache* shared_rows = nullptr;                        // LoaderOptions::share
  std::function<std::unique_ptr<DevicePainter>()> new_painter;  // LoaderOptions::device
  bool holds_blocks = false;                                    // BlockSource::holds_blocks()
};

// Whether a row was made, and if not, why.
struct RowVerdict {
  std::shared_ptr<const Error> error = nullptr;  // null: the row was made
  bool of_shard = false;  // whether the fault is that the shard cannot be opened
  // No checksum was compared, so only FileCheck finds a file that was cut meanwhile.
  bool unverified = false;
  std::size_t part = 0;  // of the row: which of its samples is faulty

  // The user's sample_function has kept the row's memory, and could still change the row.
  bool memory_kept = false;

  static RowVerdict Of(const Error& error) {
    return {.error = std::make_shared<const Error>(error)};
  }
  bool failed() const noexcept { return error != nullptr; }
  // Whether this process lacked the memory to read the sample, which may be whole itself.
  bool lacks_memory() const noexcept { return failed() && error->code() == ErrorCode::kMemory; }
};

// Each decoder thread has one.
class SampleReader {
 public:
  // All references must outlive it.
  SampleReader(const BatchRecipe& recipe, const DecodingContext& context);

  // Bytes of memory that it takes at most.
  static std::uint64_t MemoryBytes(const BatchRecipe& recipe);

  // Fills row `row` of the slot with its sample, or with its parts.
  RowVerdict Read(Slot& slot, std::size_t row);
  // Prefetches into the CPU's cache what Read() of that row will need, if that is known beforehand.
  void Prefetch(const Slot& slot, std::size_t row) const noexcept;

  // The sample's key; empty if it cannot be read.
  std::string KeyOf(const SampleRef& ref) const;
  // Names a sample in messages: its number, its key and where it lies, or where its row of a column
  // lies.
  std::string PlaceOf(const SampleRef& ref) const { return PlaceOf(ref, ref); }
  std::string PlaceOf(const SampleRef& ref, const SampleRef& at) const;

  // The payloads decoded so far, and what they became.
  struct Decoded {
    std::uint64_t bytes = 0;
    std::uint64_t picture_pixels = 0;    // as LoaderStats::picture_pixels
    std::uint64_t shown_pixels = 0;      // as LoaderStats::shown_pixels
    std::uint64_t left_out_objects = 0;  // as LoaderStats::left_out_objects
  };
  const Decoded& decoded() const noexcept { return decoded_; }

  // From now on, adds the time of each part of its work to `times`. Null: no longer.
  void TimeParts(PartTimes* times) noexcept {
    times_ = times;
    painter_.TimeParts(times);
  }

 private:
  RowVerdict ReadPart(Slot& slot, std::size_t row, std::size_t part);
  // Whether an earlier read compared the sample's payloads with their checksums.
  enum class ComparedBefore { kNotAsked, kNo, kYes };
  // The sample that is being read.
  struct Sample {
    SampleRef ref;
    std::size_t part = 0;  // of the row
    ShardUse file;
    std::shared_ptr<const HeldBlock> held;  // null: the block is mapped
    Bytes picture;                          // the payload that the picture was made from, if any
    ComparedBefore compared_before = ComparedBefore::kNotAsked;
    bool unverified = false;     // the picture was made without comparing a checksum
    bool needs_picture = false;  // the held block lacks the picture's bytes
  };

  std::optional<RowVerdict> Open(Slot& slot, std::size_t row, Sample& sample);
  // Reads a block that was not read ahead, for a source that holds blocks. The samples of a
  // SampleSupply are all made here.
  std::shared_ptr<const HeldBlock> ReadNow(const Sample& sample, const Slot& slot);
  // The functions below return why the row could not be made, and nothing if it was made.
  std::optional<Error> ReadFrom(Sample& sample, Slot& slot, std::size_t row);
  ValueFault MakeRow(const BlockView& block, Sample& sample, Slot& slot, std::size_t row);
  void CopyArrays(Slot& slot, std::size_t row) const;
  ValueFault MakePicture(const BlockView& block, Sample& sample, Slot& slot, std::size_t row);
  // Whether to compare a payload with its checksum.
  bool Verifies(Sample& sample, bool raw);
  // Whether some of the bytes that the row was made from could not be read.
  bool Lost(const Sample& sample, const BlockView& block, bool faulty) const;

  DatasetState& dataset_;
  const SlotLayout& layout_;
  const DecodingContext context_;
  const Verify verify_;
  DecodedPictureCache* const pictures_;  // null: nothing is kept, or whole rows are
  const std::size_t
      raw_bytes_;  // of a picture, if all are raw, of one size, and read from shards; else 0
  PayloadDecoder decoder_;
  PicturePainter painter_;
  FieldReader fields_;
  RowSources sources_;
  Decoded decoded_;
  PartTimes* times_ = nullptr;
};

// Whether files still hold the bytes of the rows that were read from them. Asks the file system
// only once for each file of a run of rows, unless the file was cut.
class FileCheck {
 public:
  void BeginRun() noexcept { whole_.clear(); }
  bool Holds(const ShardFile& file, const SampleRef& ref);

 private:
  std::vector<const ShardFile*> whole_;  // files that were found whole in this run
};

}  // namespace sluice
