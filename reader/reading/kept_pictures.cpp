#include "reader/reading/kept_pictures.h"

#include "reader/transform/geometric_steps.h"
#include "reader/transform/step_kind.h"

namespace sluice {

bool RowsAreFixed(const LoaderOptions& options) {
  if (!options.views.empty() || options.sizes.size() > 1 || !options.schedule.empty()) return false;
  bool turned = false;
  for (const Transform& step : options.transform) {
    // These steps work on the row, after this stage.
    if (!IsGeometric(step) || Warps(step)) continue;
    if (DrawsPart(step)) return false;
    // A crop after a flip may round differently.
    if (turned && !Turns(step)) return false;
    turned = turned || Turns(step);
  }
  return true;
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
    const Region first = rows_ ? region.Upright() : Region::Whole(payload.width, payload.height);
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
  return decoder.Decode(kept_, region.TurnOf(kept_.width, kept_.height), target);
}

void KeptPictures::Keep(std::uint64_t sample) {
  store_->Put(sample, picture_);
  pending_ = false;
}

}  // namespace sluice
