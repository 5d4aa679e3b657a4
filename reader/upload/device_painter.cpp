#include "reader/upload/device_painter.h"

#include "reader/transform/shared_part.h"

namespace sluice {

bool SlotPainter::Put(const StoredPicture& cached, const ImagePayload& payload, const Frame& frame,
                      Slot& slot, std::size_t view, std::size_t row) {
  auto& place = static_cast<DeviceSlot&>(*slot.device);  // Uploader::NewSlot() made it
  if (!layout_.room || place.host_only ||
      !place.share.Offers(slot.index, slot.layout->batch_size, row)) {
    return false;
  }
  if (frame.warped || !views_[view].pixels.idle(slot.stages[view])) return false;
  const bool made = cached.at != nullptr ? parcel_.Make(cached, payload, frame.region, channels_)
                                         : parcel_.Make(payload, frame.region, channels_);
  return made && place.Put(view, row, parcel_);
}

bool SlotPainter::PaintCached(const ImagePayload& payload, std::span<const Frame> frames,
                              Slot& slot, std::size_t row) {
  if (cache_ == nullptr) return false;
  const StoredPicture cached = cache_->Find(slot.refs[row].index);
  if (cached.at == nullptr || SharedPart::Cheaper(payload, frames)) return false;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    if (Put(cached, payload, frames[v], slot, v, row)) continue;
    slot.device->TakeBack(row);
    return false;
  }
  for (std::size_t v = 0; v < views_.size(); ++v)
    DrawOps(frames, slot, v, row);
  return true;
}

void SlotPainter::DrawOps(std::span<const Frame> frames, Slot& slot, std::size_t view,
                          std::size_t row) const {
  const std::size_t each = layout_.ops[view].each;
  if (each == 0) return;
  const Region& region = frames[view].region;
  views_[view].pixels.DrawOps({nullptr, region.width(), region.height(), channels_},
                              slot.view_seeds[view], slot.positions[row],
                              {static_cast<DeviceSlot&>(*slot.device).OpsOf(view, row), each},
                              slot.stages[view]);
}

}  // namespace sluice
