// Steps that change values are drawn once for the row and then run on each channel, because the
// decoder makes one channel at a time. Normalize is value minus mean, divided by the deviation, in
// double and in the stored values' own units; no data becomes 0, the mean.
#include "reader/decoding/wide_painter.h"

#include <algorithm>
#include <cmath>

#include "format/half.h"
#include "format/pixels/lines.h"

namespace sluice {

std::uint64_t WidePainter::MemoryBytes(const SlotLayout& layout, std::uint64_t pixels,
                                       std::size_t image, const Geometry& geometry) {
  const SlotLayout::ImageField& field = layout.images[image];
  // Planes of a row: as made, upright, warped and blurred.
  constexpr std::uint64_t kPlanes = 4;
  const std::uint64_t row = std::uint64_t{field.image.width} * field.image.height;
  const std::uint64_t value_bytes = SizeOf(field.pixels);
  // A zstd payload inflated, and the copy of a row before it is turned: of all channels.
  // A plane before its warp may be as large as it is stored.
  const std::uint64_t unwarped = geometry.warping_step().empty() ? 0 : pixels;
  return WideDecoder::MemoryBytes(field.pixels, pixels) +
         sizeof(float) * (kPlanes * row + unwarped) +
         (pixels * field.stored_channels + row * field.channels.size()) * value_bytes;
}

Defect WidePainter::Open(const ImagePayload& payload, WideDecoder& decoder,
                         const SlotLayout::ImageField& field) {
  if (payload.channels != field.stored_channels)
    return "the image has another number of channels than the rest of the field";
  return decoder.Open(payload);
}

Defect WidePainter::Paint(const ImagePayload& payload, WideDecoder& decoder, const Frame& frame,
                          const SlotLayout::ImageField& field, const Steps& steps, PixelOrder order,
                          std::uint8_t* row) {
  if (!LiesInside(frame.region, payload.width, payload.height))
    return "the region does not lie inside the image";
  const bool idle = steps.program == nullptr || steps.program->idle(steps.stage);
  // The stored bits as they are: also NaNs with a payload, and numbers that stand for no data.
  if (idle && !frame.warped && WideDecoder::Copies(frame.region))
    return decoder.Copy(frame.region, field.channels, field.fill, order, row);
  const std::uint32_t width = frame.width(), height = frame.height();
  ops_.clear();
  if (!idle) {
    steps.program->DrawWide({nullptr, width, height, 1}, steps.draw_seed, steps.position,
                            steps.stage, ops_);
  }
  const Normalize* const numbers = idle ? nullptr : steps.program->wide_numbers();
  const bool has_no_data = field.no_data.has_value();
  return decoder.MakePlanes(
      frame.region, field.channels, field.no_data, [&](std::size_t c, std::vector<float>& plane) {
        if (frame.warped) {
          WarpPlane(plane, {frame.region.width(), frame.region.height()}, frame.warp.Inverse(),
                    has_no_data, {width, height}, warped_);
          // Both buffers live on, so a batch of rows of one size allocates nothing.
          std::swap(plane, warped_);
          const float outside = has_no_data ? kNoData : 0;
          FillOutside({&frame.shown, 1},
                      {reinterpret_cast<std::uint8_t*>(plane.data()), width, height, sizeof(float)},
                      reinterpret_cast<const std::uint8_t*>(&outside));
        }
        steps_.Run(ops_, {plane, width, height, c, field.pixels, has_no_data});
        Store(plane, c, field, numbers, order, row);
      });
}

void WidePainter::Store(const std::vector<float>& plane, std::size_t channel,
                        const SlotLayout::ImageField& field, const Normalize* numbers,
                        PixelOrder order, std::uint8_t* row) const {
  const std::size_t channels = field.channels.size();
  // The values of one channel lie together, or as far apart as a pixel has channels.
  const std::size_t step = order == PixelOrder::kPlanar ? 1 : channels;
  const std::size_t first = order == PixelOrder::kPlanar ? channel * plane.size() : channel;
  const auto store = [&]<class Value>(Value* out, const auto& make) {
    out += first;
    for (const float value : plane) {
      *out = static_cast<Value>(make(value));
      out += step;
    }
  };
  if (numbers != nullptr) {
    const auto of_channel = [channel](const std::vector<float>& list) {
      return double(list[list.size() == 1 ? 0 : channel]);
    };
    const double mean = of_channel(numbers->mean), deviation = of_channel(numbers->deviation);
    const bool has_no_data = field.no_data.has_value();
    const auto normal = [=](float value) {
      return has_no_data && std::isnan(value)
                 ? 0.0F
                 : static_cast<float>((double(value) - mean) / deviation);
    };
    switch (numbers->type) {
      case FloatType::kFloat32: return store(reinterpret_cast<float*>(row), normal);
      case FloatType::kFloat16:
        return store(reinterpret_cast<std::uint16_t*>(row),
                     [&](float value) { return HalfOf(normal(value)); });
      case FloatType::kBFloat16:
        return store(reinterpret_cast<std::uint16_t*>(row),
                     [&](float value) { return BFloatOf(normal(value)); });
    }
  }
  const PixelType type = field.pixels;
  const auto stored = [&](float value) {
    return std::isnan(value) && field.no_data ? field.fill : BitsOf(type, double(value));
  };
  switch (SizeOf(type)) {
    case 1: return store(row, stored);
    case 2: return store(reinterpret_cast<std::uint16_t*>(row), stored);
    default: return store(reinterpret_cast<std::uint32_t*>(row), stored);
  }
}

}  // namespace sluice
