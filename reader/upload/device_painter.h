// Leaves pictures to a device that decodes: takes them apart (JpegParcel) and puts them into the
// slot's part for the device, or names a picture that lies in the device's cache already; and draws
// the operations that the device runs on rows.
#pragma once

#include "reader/batch/batch_recipe.h"
#include "reader/upload/device_cache.h"
#include "reader/upload/device_slot.h"

namespace sluice {

class SlotPainter final : public DevicePainter {
 public:
  // `cache` may be null. All must outlive it.
  SlotPainter(const BatchRecipe& recipe, const DeviceLayout& layout, const DeviceCache* cache)
      : views_(recipe.views),
        channels_(static_cast<std::uint32_t>(recipe.layout.picture().image.channels)),
        layout_(layout),
        cache_(cache) {}

  bool Paint(const ImagePayload& payload, std::span<const Frame> frames, Slot& slot,
             std::size_t view, std::size_t row) override {
    return Put({}, payload, frames[view], slot, view, row);
  }
  bool PaintCached(const ImagePayload& payload, std::span<const Frame> frames, Slot& slot,
                   std::size_t row) override;
  void DrawOps(std::span<const Frame> frames, Slot& slot, std::size_t view,
               std::size_t row) const override;

 private:
  // `cached`: where the device finds the picture, if `at` is not null.
  bool Put(const StoredPicture& cached, const ImagePayload& payload, const Frame& frame, Slot& slot,
           std::size_t view, std::size_t row);

  const std::vector<ViewProgram>& views_;
  const std::uint32_t channels_;
  const DeviceLayout& layout_;
  const DeviceCache* const cache_;
  JpegParcel parcel_;
};

}  // namespace sluice
