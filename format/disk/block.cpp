// One rule says where payloads lie: after the table, field by field, and within a field sample by
// sample, each aligned. BuildBlock() places them so, and VerifyPlacement() checks it.
// The other checks cover only the bytes that the caller reads next: ParseHeader() the header,
// VerifyTable() the records, GetPayload() and GetImage() one entry, whose numbers are compared with
// the block before they are used. A payload's checksum is compared by the caller (Matches()).
// BuildBlock() stores the header twice, because the header's checksum covers the words before it.
#include "format/disk/block.h"

#include "format/disk/checksum.h"
#include "format/disk/limits.h"

namespace sluice {

namespace {

bool HasPayload(const Field& field) noexcept {
  return field.kind != FieldKind::kArray;
}

// Fills one field's entry in a sample's record; `offset` is where its payload goes, if it has one.
void FillEntry(const Field& field, const FieldValue& value, std::uint64_t offset,
               std::span<std::byte> entry_bytes) {
  if (!HasPayload(field)) {
    std::memcpy(entry_bytes.data(), value.bytes.data(), value.bytes.size());
    return;
  }
  if (value.codec == Codec::kAbsent) return;  // an entry of zeros
  PayloadEntry entry;
  entry.offset = offset;
  entry.checksum = Hash64(value.bytes);
  entry.size = static_cast<std::uint32_t>(value.bytes.size());
  entry.codec = static_cast<std::uint16_t>(value.codec);
  StoreAt(entry_bytes, 0, entry);
  if (field.kind == FieldKind::kImage) {
    ImageEntryPart image;
    image.width = value.width;
    image.height = value.height;
    image.channels = value.channels;
    image.pixel_type = static_cast<std::uint8_t>(value.pixel_type);
    StoreAt(entry_bytes, sizeof(PayloadEntry), image);
  }
}

}  // namespace

std::uint64_t BlockBytesOf(const EncodedSample& sample, const Schema& schema,
                           const RecordLayout& layout) noexcept {
  std::uint64_t bytes = layout.record_bytes();
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (HasPayload(schema.fields[f])) {
      bytes += AlignUp(sample.fields[f].bytes.size(), kPayloadAlignment);
    }
  }
  return bytes;
}

std::vector<std::byte> BuildBlock(const Schema& schema, const RecordLayout& layout, Id128 shard_id,
                                  std::uint32_t number, std::uint64_t first_sample,
                                  std::span<const EncodedSample> samples) {
  const std::uint64_t record_bytes = layout.record_bytes();
  std::uint64_t end = PayloadStart(samples.size(), record_bytes);
  for (const EncodedSample& sample : samples) {
    end += BlockBytesOf(sample, schema, layout) - record_bytes;
  }

  std::vector<std::byte> block(AlignUp(end, kPageBytes));
  const std::span<std::byte> out(block);
  std::uint64_t next = PayloadStart(samples.size(), record_bytes);
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const FieldValue& value = samples[s].fields[f];
      const std::size_t entry = sizeof(BlockHeader) + s * record_bytes + layout.offset(f);
      FillEntry(schema.fields[f], value, next, out.subspan(entry, layout.entry_bytes(f)));
      if (!HasPayload(schema.fields[f]) || value.codec == Codec::kAbsent) continue;
      if (!value.bytes.empty()) {
        std::memcpy(block.data() + next, value.bytes.data(), value.bytes.size());
      }
      next += AlignUp(value.bytes.size(), kPayloadAlignment);
    }
  }

  FinishBlock(static_cast<std::uint32_t>(record_bytes), shard_id, number, first_sample,
              static_cast<std::uint32_t>(samples.size()), block);
  return block;
}

void FinishBlock(std::uint32_t record_bytes, Id128 shard_id, std::uint32_t number,
                 std::uint64_t first_sample, std::uint32_t count, std::span<std::byte> block) {
  BlockHeader header;
  header.number = number;
  header.bytes = block.size();
  header.first_sample = first_sample;
  header.count = count;
  header.record_bytes = record_bytes;
  header.shard_id = shard_id;
  header.table_checksum =
      Hash64(Bytes(block).subspan(sizeof(BlockHeader), std::size_t{count} * record_bytes));
  StoreAt(block, 0, header);
  header.header_checksum = Hash64(Bytes(block).first(offsetof(BlockHeader, header_checksum)));
  StoreAt(block, 0, header);
}

Defect BlockView::ParseHeader(Bytes block, BlockHeader& header) noexcept {
  if (const Defect defect = ParseCutHeader(block, header)) return defect;
  if (header.bytes > block.size()) return "the block is cut short";
  return nullptr;
}

Defect ParseCutHeader(Bytes block, BlockHeader& header) noexcept {
  if (block.size() < sizeof(BlockHeader)) return "the block is cut short";
  header = LoadAt<BlockHeader>(block, 0);
  if (header.magic != BlockHeader::kMagic) return "the block does not begin with a block header";
  if (header.header_checksum != Hash64(block.first(offsetof(BlockHeader, header_checksum)))) {
    return "the block header's checksum does not match";
  }
  if (header.bytes % kPageBytes != 0 || header.bytes > kMaxShardBytes || header.count == 0 ||
      header.count > kMaxBlockSamples || header.record_bytes > kMaxRecordBytes ||
      PayloadStart(header.count, header.record_bytes) > header.bytes) {
    return "the block header's sizes are out of range";
  }
  return nullptr;
}

Defect BlockView::VerifyTable() const noexcept {
  const auto header = LoadAt<BlockHeader>(block_, 0);
  const Bytes table = block_.subspan(sizeof(BlockHeader), std::size_t{count_} * record_bytes_);
  return header.table_checksum == Hash64(table) ? nullptr
                                                : "the block table's checksum does not match";
}

Defect BlockView::GetPayload(const RecordLayout& layout, std::uint32_t record, std::size_t field,
                             Payload& payload) const noexcept {
  if (!layout.has(field)) {
    payload = {};
    return nullptr;
  }
  payload.entry = LoadAt<PayloadEntry>(Record(record), layout.offset(field));
  payload.bytes = {};
  if (payload.entry.codec == static_cast<std::uint16_t>(Codec::kAbsent)) return nullptr;
  if (payload.entry.flags != 0) return "the payload's flags are not known";
  if (payload.entry.size > kMaxPayloadBytes) return "the payload has more than 120000000 bytes";
  if (!Inside(payload.entry.offset, payload.entry.size, block_.size())) {
    return "the payload lies outside its block";
  }
  payload.bytes = block_.subspan(payload.entry.offset, payload.entry.size);
  return nullptr;
}

Defect BlockView::GetImage(const RecordLayout& layout, std::uint32_t record, std::size_t field,
                           ImagePayload& image, std::uint64_t& checksum) const noexcept {
  Payload payload;
  if (const Defect defect = GetPayload(layout, record, field, payload)) return defect;
  if (!layout.has(field)) {
    image = {};
    return nullptr;
  }
  const auto part =
      LoadAt<ImageEntryPart>(Record(record), layout.offset(field) + sizeof(PayloadEntry));
  image.codec = static_cast<Codec>(payload.entry.codec);
  image.width = part.width;
  image.height = part.height;
  image.channels = part.channels;
  image.pixel_type = static_cast<PixelType>(part.pixel_type);
  image.bytes = payload.bytes;
  checksum = payload.entry.checksum;
  if (image.codec == Codec::kAbsent) return nullptr;
  if (part.width == 0 || part.width > kMaxImageSide || part.height == 0 ||
      part.height > kMaxImageSide || std::uint64_t{part.width} * part.height > kMaxImagePixels ||
      part.channels == 0 || part.channels > kMaxImageChannels || part.pixel_type > kMaxPixelType) {
    return "the image's size or pixel type is out of range";
  }
  if (std::uint64_t{part.width} * part.height * part.channels * SizeOf(image.pixel_type) >
      kMaxImageBytes) {
    return "the image takes more than 1 GiB";
  }
  return nullptr;
}

Defect BlockView::CheckContentCodec(const Payload& payload) noexcept {
  switch (static_cast<Codec>(payload.entry.codec)) {
    case Codec::kAbsent:
    case Codec::kRaw:
    case Codec::kZstd: return nullptr;
    case Codec::kJpeg:
    case Codec::kPacked:
    case Codec::kTiled: return "its codec is for images, and this field holds no images";
  }
  return "its codec is not known to this build; use a newer version of Sluice";
}

Defect BlockView::VerifyPlacement(const Schema& schema, const RecordLayout& layout) const noexcept {
  std::uint64_t next = sizeof(BlockHeader) + std::uint64_t{count_} * record_bytes_;
  const std::uint64_t start = PayloadStart(count_, record_bytes_);
  if (!AllZero(block_.subspan(next, start - next))) return "padding after the table is not zero";
  next = start;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const std::uint64_t entry_end = layout.offset(f) + layout.entry_bytes(f);
    const std::uint64_t record_end =
        f + 1 < layout.fields() ? layout.offset(f + 1) : layout.record_bytes();
    for (std::uint32_t record = 0; record < count_; ++record) {
      if (!AllZero(Record(record).subspan(entry_end, record_end - entry_end))) {
        return "padding inside the table is not zero";
      }
      if (!HasPayload(schema.fields[f])) continue;
      Payload payload;
      if (GetPayload(layout, record, f, payload) != nullptr) return nullptr;
      if (payload.entry.codec == static_cast<std::uint16_t>(Codec::kAbsent)) {
        if (!AllZero(Record(record).subspan(layout.offset(f), layout.entry_bytes(f)))) {
          return "the entry of an absent value is not zero";
        }
        continue;
      }
      if (schema.fields[f].kind == FieldKind::kImage &&
          !AllZero(Record(record).subspan(
              layout.offset(f) + sizeof(PayloadEntry) + offsetof(ImageEntryPart, zero),
              sizeof(ImageEntryPart::zero)))) {
        return "padding inside the table is not zero";
      }
      if (payload.entry.offset != next) return "a payload is not where the format puts it";
      const std::uint64_t end = next + payload.entry.size;
      next = AlignUp(end, kPayloadAlignment);
      if (next > block_.size() || !AllZero(block_.subspan(end, next - end))) {
        return "padding after a payload is not zero";
      }
    }
  }
  if (AlignUp(next, kPageBytes) != block_.size() || !AllZero(block_.subspan(next))) {
    return "padding at the block's end is not zero";
  }
  return nullptr;
}

}  // namespace sluice
