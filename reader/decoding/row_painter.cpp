#include "reader/decoding/row_painter.h"

namespace sluice {

RowPainter::RowPainter(const BatchRecipe& recipe, DecodedCache* cache,
                       std::unique_ptr<DevicePainter> device)
    : views_(recipe.views),
      layout_(recipe.layout),
      device_(std::move(device)),
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
  if (device_ != nullptr && device_->PaintCached(payload, frames_, slot, row)) {
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
    const bool left_to_device =
        device_ != nullptr && !shared && !decoded && device_->Paint(payload, frames_, slot, v, row);
    if (!left_to_device) {
      const PixelTarget target{PixelsOf(slot, v, row), channels, OrderOf(slot.images[v].image),
                               read_later_};
      const Defect defect =
          writer_.Write(decode, frames_[v], views_[v].pixels,
                        {slot.view_seeds[v], slot.positions[row], slot.stages[v]}, target);
      if (defect != nullptr) return defect;
    }
    if (device_ != nullptr) device_->DrawOps(frames_, slot, v, row);
  }
  return nullptr;
}

}  // namespace sluice
