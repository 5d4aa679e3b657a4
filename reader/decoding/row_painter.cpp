#include "reader/decoding/row_painter.h"

namespace sluice {

RowPainter::RowPainter(const BatchRecipe& recipe, DecodedCache* cache, const StoredPictures* stored)
    : views_(recipe.views),
      layout_(recipe.layout),
      stored_(stored),
      read_later_(recipe.RowsLeaveCaches()),
      cached_(cache, recipe.options) {}

bool RowPainter::FrameViews(const ImagePayload& payload, Slot& slot, std::size_t row) {
  frames_.clear();
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const Frame& frame = frames_.emplace_back(views_[v].geometry.FrameFor(
        payload.width, payload.height, slot.view_seeds[v], slot.positions[row], slot.stages[v]));
    if (!SetRowSize(slot, v, row, frame.region.width(), frame.region.height())) return false;
    std::vector<VisiblePart>& shown = slot.images[v].shown;
    if (!shown.empty()) shown[row] = VisiblePart(frame);
  }
  return true;
}

RowPainter::From RowPainter::Find(const ImagePayload& payload, Slot& slot, std::size_t row) {
  if (stored_ != nullptr && ShipStored(payload, slot, row)) {
    from_ = From::kDevice;
  } else {
    const auto channels = static_cast<std::uint32_t>(layout_.picture().image.channels);
    const bool cached = cached_.Find(slot.refs[row].index, payload, frames_[0].region, channels);
    from_ = cached ? From::kCache : From::kPayload;
  }
  return from_;
}

Defect RowPainter::Paint(const ImagePayload& payload, PayloadDecoder& decoder, Slot& slot,
                         std::size_t row) {
  const SlotLayout::ImageField& picture = layout_.picture();
  if (picture.pixels == PixelType::kUint8) return PaintViews(payload, decoder, slot, row);
  return decoder.Decode(payload, frames_[0].region,
                        {PixelsOf(slot, 0, row), static_cast<std::uint32_t>(picture.image.channels),
                         OrderOf(picture.image)});
}

Defect RowPainter::PaintViews(const ImagePayload& payload, PayloadDecoder& decoder, Slot& slot,
                              std::size_t row) {
  const auto channels = static_cast<std::uint32_t>(layout_.picture().image.channels);
  const bool decoded = from_ == From::kCache;
  const bool shared = !decoded && !cached_.whole(payload) && SharedPart::Cheaper(payload, frames_);
  if (shared) {
    if (const Defect defect = shared_.Decode(decoder, payload, frames_, channels)) return defect;
  }
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const auto decode = [&](const Region& region, const PixelTarget& target) {
      return shared ? shared_.Take(decoder, region, target)
                    : cached_.Decode(decoder, payload, region, target);
    };
    const bool shipped = !shared && !decoded && Ship({}, payload, slot, v, row);
    if (!shipped) {
      const PixelTarget target{PixelsOf(slot, v, row), channels, OrderOf(slot.images[v].image),
                               read_later_};
      const Defect defect =
          writer_.Write(decode, frames_[v], views_[v].pixels,
                        {slot.view_seeds[v], slot.positions[row], slot.stages[v]}, target);
      if (defect != nullptr) return defect;
    }
    DrawOps(slot, v, row);
  }
  return nullptr;
}

bool RowPainter::Ship(const StoredPicture& stored, const ImagePayload& payload, Slot& slot,
                      std::size_t view, std::size_t row) {
  if (!layout_.jpeg || slot.all_here || !IsOffered(slot, row)) return false;
  if (frames_[view].warped || !views_[view].pixels.idle(slot.stages[view])) return false;
  const auto channels = static_cast<std::uint32_t>(layout_.picture().image.channels);
  const Region& region = frames_[view].region;
  const bool made = stored.at != nullptr ? parcel_.Make(stored, payload, region, channels)
                                         : parcel_.Make(payload, region, channels);
  return made && PutJpeg(slot, view, row, parcel_);
}

bool RowPainter::ShipStored(const ImagePayload& payload, Slot& slot, std::size_t row) {
  const StoredPicture stored = stored_->Find(slot.refs[row].index);
  if (stored.at == nullptr || SharedPart::Cheaper(payload, frames_)) return false;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    if (Ship(stored, payload, slot, v, row)) continue;
    DropJpeg(slot, row);
    return false;
  }
  for (std::size_t v = 0; v < views_.size(); ++v)
    DrawOps(slot, v, row);
  return true;
}

void RowPainter::DrawOps(Slot& slot, std::size_t view, std::size_t row) const {
  const SlotLayout::DeviceOps& ops = layout_.images[view].ops;
  if (ops.each == 0) return;
  auto* const first = reinterpret_cast<PixelOp*>(slot.memory.data() + ops.offset);
  const Region& region = frames_[view].region;
  views_[view].pixels.DrawOps({nullptr, region.width(), region.height(),
                               static_cast<std::uint32_t>(layout_.picture().image.channels)},
                              slot.view_seeds[view], slot.positions[row],
                              std::span(first + row * ops.each, ops.each), slot.stages[view]);
}

}  // namespace sluice
