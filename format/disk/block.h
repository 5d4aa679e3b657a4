// A block: a run of consecutive samples of one shard, self-describing (format/FORMAT.md, "Blocks").
//
// BuildBlock() makes the bytes of a block, BlockView reads them in place. A view copies nothing and
// keeps nothing alive, not even its shard.
#pragma once

#include <string>

#include <sluice/image.h>
#include <sluice/schema.h>

#include "format/disk/bytes.h"
#include "format/disk/record_layout.h"

namespace sluice {

struct BlockHeader {
  std::uint32_t magic = kMagic;
  std::uint32_t number = 0;        // within the shard
  std::uint64_t bytes = 0;         // of the whole block; a multiple of the page size
  std::uint64_t first_sample = 0;  // within the shard
  std::uint32_t count = 0;         // samples, at least 1
  std::uint32_t record_bytes = 0;
  Id128 shard_id;
  std::uint64_t table_checksum = 0;   // XXH3-64 of the table
  std::uint64_t header_checksum = 0;  // XXH3-64 of the bytes before this word

  static constexpr std::uint32_t kMagic = 0x4B4C4253;  // "SBLK"
};
static_assert(sizeof(BlockHeader) == 64);

// The value of one field of a sample, as it will be stored.
struct FieldValue {
  std::vector<std::byte> bytes;  // array fields: the elements; others: the payload
  Codec codec = Codec::kAbsent;  // codec of a payload
  std::uint32_t width = 0;       // images
  std::uint32_t height = 0;
  std::uint8_t channels = 0;
  PixelType pixel_type = PixelType::kUint8;

  void SetBytes(Bytes content) { bytes.assign(content.begin(), content.end()); }
  void SetSize(std::uint32_t wide, std::uint32_t high, std::uint32_t of_channels) noexcept {
    width = wide;
    height = high;
    channels = static_cast<std::uint8_t>(of_channels);
  }
};

struct EncodedSample {
  std::string key;
  std::vector<FieldValue> fields;  // one for each field of the schema, in its order
};

// Bytes that a sample adds to a block: its record and its payloads, aligned.
std::uint64_t BlockBytesOf(const EncodedSample& sample, const Schema& schema,
                           const RecordLayout& layout) noexcept;

// An upper bound for the size of a block whose samples add up to `sample_bytes` (by BlockBytesOf).
constexpr std::uint64_t BlockBytes(std::uint64_t sample_bytes) noexcept {
  return AlignUp(sizeof(BlockHeader) + kPayloadAlignment + sample_bytes, kPageBytes);
}

// The bytes of a block of these samples (at least one).
std::vector<std::byte> BuildBlock(const Schema& schema, const RecordLayout& layout, Id128 shard_id,
                                  std::uint32_t number, std::uint64_t first_sample,
                                  std::span<const EncodedSample> samples);

// Writes the header of a block whose table is there, with the checksums of both.
void FinishBlock(std::uint32_t record_bytes, Id128 shard_id, std::uint32_t number,
                 std::uint64_t first_sample, std::uint32_t count, std::span<std::byte> block);

// Why bytes are wrong: a sentence, or null if they are right.
using Defect = const char*;

class ShardFile;

class BlockView {
 public:
  BlockView() = default;
  // Checks the header's checksum, and its sizes against the format's limits and the bytes given.
  // Does not read the table.
  static Defect ParseHeader(Bytes block, BlockHeader& header) noexcept;

  // `block` begins with a header that ParseHeader has accepted and is at least header.bytes long.
  BlockView(Bytes block, const BlockHeader& header, const ShardFile* shard = nullptr) noexcept
      : block_(block.first(static_cast<std::size_t>(header.bytes))),
        count_(header.count),
        record_bytes_(header.record_bytes),
        shard_(shard) {}
  // A block that BuildBlock() made of a single sample. For the functions below, this sample is
  // record number `record`.
  static BlockView OfOneRecord(Bytes made, std::uint32_t record) noexcept {
    BlockView view(made, LoadAt<BlockHeader>(made, 0));
    view.first_record_ = record;
    return view;
  }

  std::uint32_t count() const noexcept { return count_; }
  // Compares the table with the header's checksum.
  Defect VerifyTable() const noexcept;

  Bytes Record(std::uint32_t record) const noexcept {
    return block_.subspan(sizeof(BlockHeader) + std::size_t{record - first_record_} * record_bytes_,
                          record_bytes_);
  }
  // The elements of an array field; none if the layout lacks it.
  Bytes Elements(const RecordLayout& layout, std::uint32_t record,
                 std::size_t field) const noexcept {
    return Record(record).subspan(layout.offset(field), layout.entry_bytes(field));
  }
  // The payload of a bytes, variable or image field, with its bounds checked. If it is absent, or
  // if the layout lacks the field, its codec is 0.
  struct Payload {
    PayloadEntry entry;
    Bytes bytes;
  };
  Defect GetPayload(const RecordLayout& layout, std::uint32_t record, std::size_t field,
                    Payload& payload) const noexcept;
  // Null if a bytes or variable field can have the payload's codec.
  static Defect CheckContentCodec(const Payload& payload) noexcept;
  // Like GetPayload(), for an image field, with the bounds of its size checked. `checksum` is that
  // of the payload.
  Defect GetImage(const RecordLayout& layout, std::uint32_t record, std::size_t field,
                  ImagePayload& image, std::uint64_t& checksum) const noexcept;
  // Whether a payload of this block has that checksum. If it does not and came from an object
  // store, it is fetched and compared once more.
  bool Matches(Bytes payload, std::uint64_t checksum) const;

  // Checks what the format promises beyond checksums: payloads lie exactly where the rule puts
  // them, and every byte between them is zero. For `sluice verify`; reads the whole block. Stops at
  // a payload that GetPayload() refuses, and does not report it.
  Defect VerifyPlacement(const Schema& schema, const RecordLayout& layout) const noexcept;

 private:
  Bytes block_;
  std::uint32_t count_ = 0;
  std::uint32_t record_bytes_ = 0;
  std::uint32_t first_record_ = 0;
  const ShardFile* shard_ = nullptr;
};

// The offset of the first payload from the block's beginning: after the table of `samples` records.
constexpr std::uint64_t PayloadStart(std::uint64_t samples, std::uint64_t record_bytes) noexcept {
  return AlignUp(sizeof(BlockHeader) + samples * record_bytes, kPayloadAlignment);
}

// Like BlockView::ParseHeader(), but accepts fewer bytes than the header says.
Defect ParseCutHeader(Bytes block, BlockHeader& header) noexcept;

}  // namespace sluice
