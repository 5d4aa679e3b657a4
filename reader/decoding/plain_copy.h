// Fills rows whose images need no decoding. All images are raw and have one size, and the batch
// holds stored pixels: all of an image, or a rectangle of it, perhaps mirrored.
//
// PlainCopy takes a chunk of rows at a time: it finds where their bytes lie, copies each array
// field of all rows, copies their images, and checks at the end that no file was cut or lost pages
// meanwhile. That costs a tenth of reading row by row, which matters where an image is a few
// kilobytes. Some rows are left to SampleReader, which reads them or reports their faults: those
// whose block or payload has not been verified yet; those whose image has, by its entry in the
// block's table, an unusual codec, size or type, or lies outside the block; and those whose file
// lost pages or was cut.
#pragma once

#include <vector>

#include "format/disk/shard.h"
#include "format/pixels/decode.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/compared_payloads.h"
#include "reader/decoding/row_sources.h"

namespace sluice {

class PlainCopy {
 public:
  // Rows of a chunk, at most.
  static constexpr std::size_t kMaxRows = 64;

  // Whether rows of this recipe can be copied. They cannot if, for example, a step changes pixels,
  // a user's function gets each sample, or every checksum is always compared (Verify::kAlways).
  static bool Serves(const BatchRecipe& recipe);

  // `compared` says which payloads have been compared with their checksums; null if no payload has
  // to be compared.
  // `recipe` and `compared` must outlive this object.
  PlainCopy(const BatchRecipe& recipe, ComparedPayloads* compared);

  // Of rows begin .. end - 1 (at most kMaxRows), fills those that can be copied. Filled() then says
  // which they are.
  void Fill(Slot& slot, std::size_t begin, std::size_t end);
  bool Filled(std::size_t row) const noexcept { return filled_[row - begin_]; }
  // The payload bytes of filled rows since the beginning.
  std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }

 private:
  struct Source {
    const ShardFile* file = nullptr;
    std::size_t row = 0;               // of the slot
    const std::byte* block = nullptr;  // the block's first byte
    std::uint64_t block_bytes = 0;
    const std::byte* entries = nullptr;  // the fields in its record
    const std::byte* pixels = nullptr;   // null: SampleReader must read this row
  };
  void FindRows(const Slot& slot, std::size_t begin, std::size_t end);
  bool FindColumns(const SampleRef& ref);
  void FindPixels();
  void CopyArrays(Slot& slot) const;
  void CopyImages(Slot& slot);
  bool CopyPart(Slot& slot, const Source& source);

  DatasetState& dataset_;
  const SlotLayout& layout_;
  const Geometry& geometry_;
  ComparedPayloads* const compared_;
  const std::uint64_t record_bytes_;  // of a record in a block's table
  const std::uint64_t entry_offset_;  // of the image's entry, in such a record
  ImagePayload image_;                // what all images have in common; no bytes
  const std::size_t image_bytes_;
  const bool whole_;       // images are copied from their first byte to their last
  const bool read_later_;  // see PixelTarget
  PayloadDecoder decoder_;
  const std::vector<UsedColumn> columns_;
  std::vector<Source> sources_;
  std::vector<const std::byte*> column_entries_;  // of each source, its record in each column
  std::vector<const ShardFile*> column_files_;    // that these lie in
  std::vector<GuardedMapping> mappings_;
  std::size_t begin_ = 0;
  bool filled_[kMaxRows] = {};
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace sluice
