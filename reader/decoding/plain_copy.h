// Fills rows whose images need no decoding: raw pixels of one size, of which a batch holds all or a
// rectangle as they are stored, perhaps mirrored.
//
// It takes a chunk of rows at a time: first where their bytes are, then each field of all rows,
// then their images, and then whether the files were whole meanwhile. That costs a tenth of reading
// row by row, which matters where an image is a few kilobytes. Whatever is not as usual, it leaves
// to SampleReader, which finds out why and reports it: a block or a payload that was not verified
// yet, a table that says something else, a file that lost pages or was cut.
#pragma once

#include <vector>

#include "format/disk/shard.h"
#include "format/pixels/decode.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/compared_payloads.h"

namespace sluice {

class PlainCopy {
 public:
  // Rows of a chunk, at most.
  static constexpr std::size_t kMaxRows = 64;

  // Whether a loader of that recipe copies. Not if something else looks at each row, nor if every
  // payload is compared with its checksum each time.
  static bool Serves(const BatchRecipe& recipe);

  // `compared`: which payloads have been compared; null: none has to be. All must outlive it.
  PlainCopy(const BatchRecipe& recipe, ComparedPayloads* compared);

  // Fills rows begin .. end - 1, at most kMaxRows. Then Filled() says which of them.
  void Fill(Slot& slot, std::size_t begin, std::size_t end);
  bool Filled(std::size_t row) const noexcept { return filled_[row - begin_]; }
  // The payload bytes of filled rows since the beginning.
  std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }

 private:
  struct Source {
    const ShardFile* file = nullptr;
    std::size_t row = 0;               // of the slot
    const std::byte* block = nullptr;  // its first byte,
    std::uint64_t block_bytes = 0;
    const std::byte* entries = nullptr;  // the row's, in the block's table
    const std::byte* pixels = nullptr;   // null: not as usual
  };
  void FindRows(const Slot& slot, std::size_t begin, std::size_t end);
  void FindPixels();
  void CopyArrays(Slot& slot) const;
  void CopyImages(Slot& slot);
  bool CopyPart(Slot& slot, const Source& source);

  DatasetState& dataset_;
  const SlotLayout& layout_;
  const Geometry& geometry_;
  ComparedPayloads* const compared_;
  const std::uint64_t row_bytes_;     // of a block's table
  const std::uint64_t entry_offset_;  // of the image, in a row of it
  ImagePayload image_;                // as every image is; without its bytes
  const std::size_t image_bytes_;
  const bool whole_;       // images are copied from their first byte to their last
  const bool read_later_;  // as PixelTarget says
  PayloadDecoder decoder_;
  std::vector<Source> sources_;
  std::vector<GuardedMapping> mappings_;
  std::size_t begin_ = 0;
  bool filled_[kMaxRows] = {};
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace sluice
