// The weights of an axis, made on a device: each thread makes some of the outputs, one at a time.
// The arithmetic is the host's (format/pixels/kernels/weights.inc.h): IEEE operations, none of them
// fused. C++17: nvcc compiles this.
#pragma once

#include "format/pixels/kernels/weight_rule.h"
#include "reader/device/jpeg_job.h"
#include "reader/transform/on_device.h"

namespace sluice {

namespace on_device {

// The weight of a sample at that distance from the centre, before scaling: 1 near the centre, then
// falling by `slope`, to 0 at `reach`.
SLUICE_ON_DEVICE inline float ShareOf(float distance, float reach, float slope) {
  const float share = (reach - (distance < 0 ? -distance : distance)) * slope;
  return share > 1 ? 1 : share > 0 ? share : 0;
}

// Makes output `i`: its first sample, and the weights of its taps.
SLUICE_ON_DEVICE inline void MakeOutput(const kernels::WeightRule& rule, std::uint32_t i,
                                        std::uint16_t& begin, std::uint16_t* weights) {
  // The centre is computed from that of the group's first output, as the host does (kWeightGroup).
  const std::uint32_t from = i / kernels::kWeightGroup * kernels::kWeightGroup;
  const double first_centre =
      rule.start + (rule.mirrored ? rule.out - 0.5 - from : from + 0.5) * rule.scale;
  const double step = rule.mirrored ? -rule.scale : rule.scale;
  const double centre = first_centre + static_cast<std::int32_t>(i - from) * step;
  const auto whole = static_cast<std::int32_t>(centre - rule.reach + 0.5);
  const std::int32_t highest = rule.bound_end - 1;
  std::int32_t first = (whole < rule.bound ? rule.bound : whole > highest ? highest : whole);
  first -= rule.first;
  const std::int32_t last = rule.extent - static_cast<std::int32_t>(rule.taps);
  if (first > last) first = last;
  const auto reach = static_cast<float>(rule.reach);
  const auto slope = static_cast<float>(rule.slope);
  const auto offset = static_cast<float>(rule.first + first + 0.5 - centre);
  float sum = 0;
  for (std::uint32_t t = 0; t < rule.taps; ++t)
    sum += ShareOf(offset + static_cast<float>(t), reach, slope);
  const float unit = sum > 0 ? 65536.0F / sum : 0;
  const bool many = rule.taps > kernels::kManyTaps;
  float carry = 0;
  std::int32_t total = 0, largest = -1;
  std::uint32_t where = 0;
  for (std::uint32_t t = 0; t < rule.taps; ++t) {
    const float share = ShareOf(offset + static_cast<float>(t), reach, slope);
    const float exact = share * unit + carry;
    const auto value = static_cast<std::int32_t>(exact + 0.5F);
    if (many) carry = exact - static_cast<float>(value);
    weights[t] = static_cast<std::uint16_t>(value);
    total += value;
    if (value > largest) {
      largest = value;
      where = t;
    }
  }
  if (sum <= 0 && offset < 0) where = rule.taps - 1;
  // The largest weight also gets what rounding left over, so that all add up to 65536; but 16 bits
  // hold at most 65535.
  const std::int32_t rest = largest + 65536 - total;
  weights[where] = static_cast<std::uint16_t>(rest < 0 ? 0 : rest > 65535 ? 65535 : rest);
  begin = static_cast<std::uint16_t>(first);
}

}  // namespace on_device

// Makes a thread's share of an axis's outputs: that of thread number `thread` out of `threads`.
SLUICE_ON_DEVICE inline void MakeAxisShare(const JpegJob& job, const JpegPicture& picture,
                                           const JpegAxis& axis, std::uint32_t thread,
                                           std::uint32_t threads) {
  if (axis.rule.taps == 0 || axis.shared) return;
  std::uint16_t* const begins = BeginsOf(job, picture, axis);
  for (std::uint32_t i = thread; i < axis.rule.out; i += threads) {
    on_device::MakeOutput(axis.rule, i, begins[i],
                          begins + axis.rule.out + std::uint64_t{i} * axis.rule.taps);
  }
}

// Makes a thread's share of the outputs of all axes of a picture.
SLUICE_ON_DEVICE inline void MakeWeightsShare(const JpegJob& job, const JpegPicture& picture,
                                              std::uint32_t thread, std::uint32_t threads) {
  if (picture.components == 0) return;
  if (picture.raw.width > 0) {
    MakeAxisShare(job, picture, picture.raw.x, thread, threads);
    MakeAxisShare(job, picture, picture.raw.y, thread, threads);
    return;
  }
  for (std::uint32_t c = 0; c < picture.components; ++c) {
    MakeAxisShare(job, picture, picture.component[c].x, thread, threads);
    MakeAxisShare(job, picture, picture.component[c].y, thread, threads);
  }
}

}  // namespace sluice

namespace sluice::on_device {

// The sum of weighted samples, as kernels::LineSum says.
struct TapSum {
  std::uint32_t cut;  // bits that are cut off from each product
  // The start of the sum, for rounding: half of what End() cuts off and, for each product, half of
  // what is cut off from it.
  std::uint32_t first;
  SLUICE_ON_DEVICE explicit TapSum(std::uint32_t taps)
      : cut(taps > kernels::kManyTaps ? 0 : 8), first(cut == 0 ? 32768 : taps / 2 + 128) {}
  SLUICE_ON_DEVICE std::uint32_t Weighted(std::uint32_t sample, std::uint32_t weight) const {
    return sample * weight >> cut;
  }
  SLUICE_ON_DEVICE std::uint32_t End(std::uint32_t sum) const {
    sum >>= 8 - cut;
    return (sum > 65535 ? 65535 : sum) >> 8;
  }
};

}  // namespace sluice::on_device
