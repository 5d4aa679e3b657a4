// The same operations as pixel_steps.cpp, with the same draws, but in the values' own scale: a
// contrast's mean is that of the channel, noise is uniform over the type's range (0 to 1 for
// floats), and sums are in double.
#include "reader/transform/wide_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "format/pixels/wide.h"
#include "format/random.h"

namespace sluice {

namespace {

// The place in a mirrored line; the line is longer than the reach beyond its ends.
std::size_t MirroredAt(std::int64_t at, std::int64_t size) noexcept {
  return static_cast<std::size_t>(at < 0 ? -at : at >= size ? 2 * size - 2 - at : at);
}

void AdjustContrastOf(const WidePlane& plane, float factor) {
  double sum = 0;
  std::size_t count = 0;
  for (const float value : plane.values) {
    if (plane.has_no_data && std::isnan(value)) continue;
    sum += double(value);
    ++count;
  }
  const double mean = count == 0 ? 0 : sum / double(count);
  for (float& value : plane.values)
    value = static_cast<float>(mean + double(factor) * (double(value) - mean));
}

float NoiseOf(PixelType type, std::uint32_t word) noexcept {
  switch (type) {
    case PixelType::kUint8: return static_cast<float>(word >> 24);
    case PixelType::kUint16: return static_cast<float>(word >> 16);
    case PixelType::kInt16: return static_cast<float>(word >> 16) - 32768.0F;
    case PixelType::kFloat16: return static_cast<float>(word >> 21) * 0x1p-11F;
    case PixelType::kFloat32: break;
  }
  return static_cast<float>(word >> 8) * 0x1p-24F;
}

// Calls `change` for each value of the operation's rectangle.
template <class Change>
void ForEachIn(const PixelOp& op, const WidePlane& plane, const Change& change) {
  for (std::size_t y = op.top; y < std::size_t{op.top} + op.height; ++y)
    for (std::size_t x = op.left; x < std::size_t{op.left} + op.width; ++x)
      change(plane.values[y * plane.width + x]);
}

void NoiseIn(const PixelOp* op, const WidePlane& plane) {
  // The channels' words follow each other in the stream, four words for each of its counters.
  const std::uint64_t word = op->number + std::uint64_t{op->width} * op->height * plane.channel;
  RandomStream draws(RandomStream::Place{Word64Of(op, 0),
                                         {WordOf(op, 2) + static_cast<std::uint32_t>(word / 4),
                                          WordOf(op, 3), WordOf(op, 4), WordOf(op, 5)},
                                         static_cast<std::uint32_t>(word % 4)});
  ForEachIn(*op, plane, [&](float& value) { value = NoiseOf(plane.type, draws.Word()); });
}

}  // namespace

void WideSteps::Run(std::span<const PixelOp> ops, const WidePlane& plane) {
  for (const PixelOp& op : ops) {
    switch (op.kind) {
      case PixelOpKind::kBrightness:
        for (float& value : plane.values)
          value *= op.factor;
        break;
      case PixelOpKind::kContrast: AdjustContrastOf(plane, op.factor); break;
      case PixelOpKind::kErase:
        ForEachIn(op, plane, [&](float& value) { value = plane.has_no_data ? kNoData : 0; });
        break;
      case PixelOpKind::kNoise: NoiseIn(&op, plane); break;
      case PixelOpKind::kBlur: Blur(&op, plane); break;
      case PixelOpKind::kEnd: return;
      default: break;  // steps with other operations were refused; kWords belong to the one before
    }
  }
}

// Down the columns, then along the lines. As in resampling, no data has no weight.
void WideSteps::Blur(const PixelOp* op, const WidePlane& plane) {
  const std::int64_t reach = op->number / 2;
  const std::size_t width = plane.width;
  const auto weight_of = [op](std::int64_t tap) {
    return WeightOf(op, static_cast<std::uint32_t>(tap)) / 65536.0;
  };
  blurred_.resize(plane.values.size());
  sums_.resize(width);
  weights_.resize(width);
  for (std::int64_t y = 0; y < std::int64_t{plane.height}; ++y) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(weights_.begin(), weights_.end(), 0.0);
    for (std::int64_t tap = 0; tap <= 2 * reach; ++tap) {
      const double weight = weight_of(tap);
      const float* const line =
          &plane.values[MirroredAt(y + tap - reach, std::int64_t{plane.height}) * width];
      for (std::size_t x = 0; x < width; ++x) {
        const bool has = !plane.has_no_data || !std::isnan(line[x]);
        sums_[x] += has ? weight * double(line[x]) : 0;
        weights_[x] += has ? weight : 0;
      }
    }
    for (std::int64_t x = 0; x < std::int64_t{plane.width}; ++x) {
      double sum = 0, has = 0;
      for (std::int64_t tap = 0; tap <= 2 * reach; ++tap) {
        const std::size_t at = MirroredAt(x + tap - reach, std::int64_t{plane.width});
        sum += weight_of(tap) * sums_[at];
        has += weight_of(tap) * weights_[at];
      }
      blurred_[static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)] =
          plane.has_no_data && has < 0.5 - 1e-12 ? kNoData : static_cast<float>(sum / has);
    }
  }
  std::swap(blurred_, plane.values);
}

}  // namespace sluice
