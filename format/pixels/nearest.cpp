// Resampling for masks, by the nearest pixel: values are numbers of classes, and a mean of two of
// them would be a third class. Values are therefore only copied, whatever their size.
//
// A bordered target is first filled with the mask's border value, then the picture is written over
// it, and a reflected border comes last. The source's columns are the same for all rows, so they
// are computed once. A transposed region is made upright in a buffer first, and turned at the end.
#include "format/pixels/nearest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/pixels/lines.h"

namespace sluice {

namespace {

std::uint32_t Nearest(const Span& span, std::uint32_t i, std::uint32_t size) noexcept {
  // The source pixel in which the centre of the target pixel lies. Clamped, because a span may end
  // exactly at the picture's edge, and rounding may lead beyond it.
  const double at = std::floor(span.start + (i + 0.5) * span.length / span.out);
  return static_cast<std::uint32_t>(std::clamp(at, 0.0, double(size) - 1));
}

}  // namespace

void SetValues(std::uint8_t* values, std::size_t count, std::uint32_t value_bytes,
               std::uint32_t value) noexcept {
  if (value_bytes == 1 || value == 0) {
    std::memset(values, static_cast<int>(value), count * value_bytes);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(values + i * value_bytes, &value, value_bytes);
}

void NearestSampler::Sample(const MaskView& mask, const Region& region, PixelOrder order,
                            std::uint8_t* target, bool keeps_border) {
  if (keeps_border && region.bordered()) {
    const Region alone = WithoutBorder(region);
    alone_.resize(std::size_t{alone.width()} * alone.height() * mask.channels * mask.value_bytes);
    Sample(mask, alone, order, alone_.data());
    return PlacePixels(alone_.data(), region, {target, mask.channels, order}, mask.value_bytes);
  }
  if (!region.transpose) {
    SampleUpright(mask, region, order, target);
    if (region.reflect) FillBorder(region, {target, mask.channels, order}, mask.value_bytes);
    return;
  }
  Region upright = region;
  upright.transpose = false;
  upright_.resize(std::size_t{region.width()} * region.height() * mask.channels * mask.value_bytes);
  Sample(mask, upright, order, upright_.data());
  TransposePixels(upright_.data(), region.x.target, region.y.target, {target, mask.channels, order},
                  mask.value_bytes);
}

void NearestSampler::SampleUpright(const MaskView& mask, const Region& region, PixelOrder order,
                                   std::uint8_t* target) {
  const std::size_t value = mask.value_bytes;
  const std::size_t pixel = mask.channels * value;
  const std::size_t plane = std::size_t{region.x.target} * region.y.target;
  if (region.bordered()) SetValues(target, plane * mask.channels, mask.value_bytes, mask.fill);
  columns_.resize(region.x.out);
  for (std::uint32_t x = 0; x < region.x.out; ++x)
    columns_[x] = Nearest(region.x, x, mask.width);
  // In a planar target, each channel is a picture of its own (a part); otherwise there is one part.
  const bool planar = order == PixelOrder::kPlanar;
  const std::size_t parts = planar ? mask.channels : 1;
  const std::size_t run = planar ? value : pixel;
  for (std::uint32_t y = 0; y < region.y.out; ++y) {
    const std::uint8_t* const row =
        mask.data + std::size_t{Nearest(region.y, y, mask.height)} * mask.width * pixel;
    const std::size_t line = std::size_t{LineOf(region, y)} * region.x.target;
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::uint32_t x = 0; x < region.x.out; ++x) {
        const std::uint32_t column = region.x.at + x;
        const std::size_t to = line + (region.flip ? region.x.target - 1 - column : column);
        std::memcpy(target + (part * plane + to) * run, row + columns_[x] * pixel + part * value,
                    run);
      }
    }
  }
}

}  // namespace sluice
