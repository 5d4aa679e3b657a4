#include "reader/cache/kept_pictures.h"

#include <algorithm>

namespace sluice {

bool RowsAreFixed(const Pipeline& pipeline) {
  // Steps that change pixels work on the row, after this.
  return std::none_of(pipeline.begin(), pipeline.end(), [](const Transform& step) {
    return std::holds_alternative<RandomResizedCrop>(step) ||
           std::holds_alternative<RandomCrop>(step);
  });
}

bool KeptPictures::Find(std::uint64_t sample, const ImagePayload& payload, const Region& region,
                        std::uint32_t channels) {
  pending_ = false;
  kept_ = {};
  if (store_ == nullptr || payload.codec == Codec::kRaw) return false;
  kept_ = {Codec::kRaw,
           PixelType::kUint8,
           static_cast<std::uint8_t>(channels),
           rows_ ? region.x.target : payload.width,
           rows_ ? region.y.target : payload.height,
           store_->Get(sample, read_)};
  const std::size_t bytes = std::size_t{kept_.width} * kept_.height * channels;
  if (kept_.bytes.size() != bytes) kept_.bytes = {};
  pending_ = kept_.bytes.empty() && !store_->full();
  return !kept_.bytes.empty();
}

Defect KeptPictures::Decode(PayloadDecoder& decoder, const ImagePayload& payload,
                            const Region& region, const PixelTarget& target) {
  const bool whole_way = kept_.codec == Codec::kRaw && !rows_;
  if (kept_.bytes.empty()) {
    if (!pending_ && !whole_way) return decoder.Decode(payload, region, target);
    Region first = rows_ ? region : Region::Whole(payload.width, payload.height);
    first.flip = false;
    picture_.resize(std::size_t{kept_.width} * kept_.height * target.channels);
    auto* const pixels = reinterpret_cast<std::uint8_t*>(picture_.data());
    if (const Defect defect =
            decoder.Decode(payload, first, {pixels, target.channels, PixelOrder::kInterleaved})) {
      pending_ = false;
      return defect;
    }
    kept_.bytes = picture_;
  }
  if (whole_way) return decoder.Decode(kept_, region, target);
  Region rest = Region::Whole(kept_.width, kept_.height);
  rest.flip = region.flip;
  return decoder.Decode(kept_, rest, target);
}

void KeptPictures::Keep(std::uint64_t sample) {
  store_->Put(sample, picture_);
  pending_ = false;
}

}  // namespace sluice
