#include "reader/pipeline/sample_decoder.h"

#include <cstring>

#include "format/disk/checksum.h"

namespace sluice {

SampleDecoder::SampleDecoder(DatasetState& dataset, const Geometry& geometry,
                             const SlotLayout& layout)
    : dataset_(dataset), geometry_(geometry), layout_(layout) {}

bool SampleDecoder::Decode(Slot& slot, std::size_t row) {
  const SampleRef& ref = slot.refs[row];
  try {
    const BlockView block = dataset_.Shard(ref.shard).Block(ref.block);
    for (const SlotLayout::ArrayField& array : layout_.arrays) {
      const Bytes value = block.Elements(dataset_.layout, ref.row, array.field);
      std::memcpy(slot.memory.data() + array.offset + row * array.sample_bytes, value.data(),
                  value.size());
    }
    if (layout_.image_field == Schema::kNone) return true;
    if (const Defect defect = DecodeImage(block, slot, row)) {
      error_ = Describe(ref, defect);
      return false;
    }
    return true;
  } catch (const Error& error) {
    error_ = error;
  } catch (const std::bad_alloc&) {
    error_ = Describe(ref, "there is not enough memory to decode it");
  }
  return false;
}

Defect SampleDecoder::DecodeImage(const BlockView& block, Slot& slot, std::size_t row) {
  const SampleRef& ref = slot.refs[row];
  ImagePayload payload;
  std::uint64_t checksum = 0;
  if (const Defect defect =
          block.GetImage(dataset_.layout, ref.row, layout_.image_field, payload, checksum)) {
    return defect;
  }
  if (payload.codec == Codec::kAbsent) return "the sample has no image in this field";
  if (payload.pixel_type != layout_.image.pixel_type) {
    return "the image has another pixel type than the rest of the field";
  }
  if (slot.verify && Hash64(payload.bytes) != checksum) {
    return "the image's checksum does not match: the shard is damaged. `sluice verify` lists what "
           "is";
  }
  const Region region =
      geometry_.RegionFor(payload.width, payload.height, slot.draw_seed, slot.positions[row]);
  // The manifest promised what the layout was made from; a shard that breaks it must not write
  // beyond.
  if (region.x.target != layout_.image.width || region.y.target != layout_.image.height) {
    return "the image is of another size than the manifest says";
  }
  payload_bytes_ += payload.bytes.size();
  std::byte* const target = slot.memory.data() + row * layout_.image.sample_bytes();
  return decoder_.Decode(
      payload, region,
      {reinterpret_cast<std::uint8_t*>(target), static_cast<std::uint32_t>(layout_.image.channels),
       layout_.image.layout == Layout::kNHWC ? PixelOrder::kInterleaved : PixelOrder::kPlanar});
}

Error SampleDecoder::Describe(const SampleRef& ref, const char* defect) const {
  const DatasetState& dataset = dataset_;
  std::string key;
  try {
    const ShardFile& shard = dataset_.Shard(ref.shard);
    key = shard.Key(std::uint64_t{ref.block} * shard.block_samples() + ref.row);
  } catch (const Error&) {
    key = "(its key cannot be read)";
  }
  return Error(ErrorCode::kCorrupt, (dataset.folder / dataset.shards[ref.shard].file).string(),
               "sample " + std::to_string(ref.index) + " \"" + key + "\" (block " +
                   std::to_string(ref.block) + ", row " + std::to_string(ref.row) + ")",
               defect);
}

}  // namespace sluice
