// Only the geometry is computed here: where an axis begins, how far the filter reaches, and which
// samples lie within. AxisWeights::Make() has the weights themselves made by a kernel
// (make_weights) from the numbers of a WeightRule.
// MakeComponentAxis() and AxisOfPart() divide a span in pixels by the reduction; a ComponentAxis
// counts in the component's samples. Positions may lie outside the component. All ranges are
// therefore clamped, so that each holds at least one sample.
#include "format/pixels/axis.h"

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {

double ScaleOf(const ComponentAxis& axis) noexcept {
  return axis.length / axis.out;
}

// Whether a sample is weighted by how much of its unit interval the output's interval covers. This
// is so only if the output's interval is the larger one: smaller ones would show single samples as
// blocks.
bool ByOverlap(const ComponentAxis& axis) noexcept {
  return axis.filter == Filter::kArea && ScaleOf(axis) > 1;
}

// How far from an output's centre a sample may lie and still have weight.
double ReachOf(const ComponentAxis& axis) noexcept {
  const double scale = ScaleOf(axis);
  return ByOverlap(axis) ? (scale + 1) / 2 : std::max(1.0, scale);
}

struct Window {
  std::uint32_t first, end;
};

// The whole part of a position, clamped to [low, high]. Positions lie within 2^31 of zero.
std::uint32_t WholeWithin(double position, std::uint32_t low, std::uint32_t high) noexcept {
  // Truncation equals the floor for positions >= 0; for negative ones the result is `low` either
  // way.
  const auto whole = static_cast<std::int64_t>(position);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(whole, low, high));
}

// The samples whose centres lie within the filter's reach of an output's centre.
Window Around(const ComponentAxis& axis, double centre, double reach) noexcept {
  const std::uint32_t first = WholeWithin(centre - reach + 0.5, axis.bound, axis.bound_end - 1);
  return {first, WholeWithin(centre + reach + 0.5, first + 1, axis.bound_end)};
}

}  // namespace

ComponentAxis MakeComponentAxis(const Span& span, std::uint32_t reduction, std::uint32_t size,
                                Filter filter) noexcept {
  ComponentAxis axis;
  axis.start = span.start / reduction;
  axis.length = span.length / reduction;
  axis.out = span.out;
  axis.filter = filter;
  axis.bound = std::min(span.bound / reduction, size - 1);
  axis.bound_end = std::clamp((span.bound + span.bound_length + reduction - 1) / reduction,
                              axis.bound + 1, size);
  const double scale = ScaleOf(axis);
  const double reach = ReachOf(axis);
  axis.first = Around(axis, axis.start + 0.5 * scale, reach).first;
  axis.last = Around(axis, axis.start + (axis.out - 0.5) * scale, reach).end;
  return axis;
}

ComponentAxis AxisOfPart(const Span& span, std::uint32_t reduction, std::uint32_t origin,
                         std::uint32_t size, Filter filter) noexcept {
  Span part = span;
  part.start = span.start / reduction - origin;
  part.length = span.length / reduction;
  part.bound = 0;
  part.bound_length = size;
  return MakeComponentAxis(part, 1, size, filter);
}

bool CopiesPixels(const Span& span) noexcept {
  return span.length == span.out && span.start == std::floor(span.start);
}

kernels::WeightRule WeightRuleOf(const ComponentAxis& axis, bool mirrored) noexcept {
  kernels::WeightRule rule;
  rule.start = axis.start;
  rule.scale = ScaleOf(axis);
  rule.reach = ReachOf(axis);
  rule.slope = ByOverlap(axis) ? 1 : 1 / rule.reach;
  rule.bound = static_cast<std::int32_t>(axis.bound);
  rule.bound_end = static_cast<std::int32_t>(axis.bound_end);
  rule.first = static_cast<std::int32_t>(axis.first);
  rule.extent = static_cast<std::int32_t>(axis.last - axis.first);
  // No more sample centres than this lie within the reach.
  rule.taps =
      std::min(static_cast<std::uint32_t>(std::ceil(2 * rule.reach)), axis.last - axis.first);
  rule.out = axis.out;
  rule.mirrored = mirrored;
  return rule;
}

void AxisWeights::Make(const kernels::Kernels& set, const ComponentAxis& axis, bool mirrored) {
  if (taps_ != 0 && axis_ == axis && mirrored_ == mirrored) return;
  axis_ = axis;
  mirrored_ = mirrored;
  kernels::WeightJob job{WeightRuleOf(axis, mirrored)};
  taps_ = job.taps;
  first_.resize(axis.out);
  values_.resize(std::size_t{axis.out} * taps_);
  job.begin = first_.data();
  job.values = values_.data();
  set.make_weights(job);
}

}  // namespace sluice
