// CachedPicture carries one picture through three calls. Find() sets kept_ to the form of what the
// cache keeps for this payload, and to its bytes if the cache has them. Decode() makes the missing
// bytes if they are to be kept, or if the whole picture comes first, and then makes the target from
// them; otherwise it decodes straight into the target. Keep() stores the bytes, once the caller has
// verified the payload.
#include "reader/decoding/decoded_picture_use.h"

#include <cstring>

#include "reader/decoding/row_bytes.h"
#include "reader/transform/geometry.h"
#include "reader/transform/steps.h"

namespace sluice {

bool RowsAreFixed(const LoaderOptions& options) {
  if (!options.views.empty() || options.sizes.size() > 1 || !options.schedule.empty()) return false;
  bool turned = false, warped = false;
  for (const Transform& step : options.transform) {
    if (const auto* const choice = std::get_if<RandomChoice>(&step)) {
      if (std::ranges::any_of(AllStepsOf({*choice}), IsGeometric)) return false;
      continue;
    }
    if (!IsGeometric(step)) continue;
    // A warp works on the row afterwards, so it does not change what is kept: unless the warp, or a
    // step after it, decides which part of the picture is decoded.
    if (ChoosesRegion(step) || (warped && !Turns(step))) return false;
    warped = warped || Warps(step);
    if (Warps(step)) continue;
    if (DrawsPart(step)) return false;
    // A crop after a flip is computed in the flipped picture, and may round to another pixel than a
    // crop before it. So the row without its flip is not the same in all epochs.
    if (turned && !Turns(step)) return false;
    turned = turned || Turns(step);
  }
  return true;
}

bool CachedPicture::Find(std::uint64_t sample, const ImagePayload& payload, const Region& region,
                         std::uint32_t channels) {
  pending_ = false;
  kept_ = {};
  if (cache_ == nullptr || payload.codec == Codec::kRaw) return false;
  kept_ = {Codec::kRaw,
           PixelType::kUint8,
           static_cast<std::uint8_t>(channels),
           rows_ ? region.x.target : payload.width,
           rows_ ? region.y.target : payload.height,
           cache_->Get(sample, read_)};
  const std::size_t bytes = std::size_t{kept_.width} * kept_.height * channels;
  if (kept_.bytes.size() != bytes) kept_.bytes = {};
  pending_ = kept_.bytes.empty() && !cache_->full();
  return !kept_.bytes.empty();
}

Defect CachedPicture::Decode(PayloadDecoder& decoder, const ImagePayload& payload,
                             const Region& region, const PixelTarget& target) {
  const bool whole_first = kept_.codec == Codec::kRaw && !rows_;
  if (kept_.bytes.empty()) {
    if (!pending_ && !whole_first) return decoder.Decode(payload, region, target);
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
  if (whole_first) return decoder.Decode(kept_, region, target);
  return decoder.Decode(kept_, region.TurnOf(kept_.width, kept_.height), target);
}

void CachedPicture::Keep(std::uint64_t sample) {
  cache_->Put(sample, picture_);
  pending_ = false;
}

bool CachedRows::Restore(Slot& slot, std::size_t row) {
  if (cache_ == nullptr) return false;
  Bytes kept = cache_->Get(slot.refs[row].index, read_);
  if (kept.empty()) return false;
  const auto get = [&kept](std::byte* to, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, kept.data(), bytes);
    kept = kept.subspan(bytes);
  };
  GetRow(slot, row, get, [&kept] { return kept.size(); });
  return true;
}

void CachedRows::Keep(Slot& slot, std::size_t row) {
  const bool restored = slot.files[row] == nullptr;
  if (cache_ == nullptr || restored || cache_->full()) return;
  row_.clear();
  PutRow(slot, row, [this](const std::byte* from, std::size_t bytes) {
    row_.insert(row_.end(), from, from + bytes);
  });
  cache_->Put(slot.refs[row].index, row_);
}

}  // namespace sluice
