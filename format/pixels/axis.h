// One axis of a resampling: which samples an interval touches, and what each output takes of them.
//
// Two filters (see Filter in sluice/image.h). Both give a sample a share that falls with the
// distance of its centre from the output's centre, is cut off at a reach, and is clipped at the
// edge of the samples that may be used. Weights are in 1/65536 and add up to it, but for a single
// one, which is 65535.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/decode.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice {

// How a Span lies on one axis of a component, in the component's samples.
struct ComponentAxis {
  double start = 0, length = 0;
  std::uint32_t bound = 0, bound_end = 0;  // samples that may be used
  std::uint32_t first = 0, last = 0;       // samples that have weight: [first, last)
  std::uint32_t out = 0;
  Filter filter = Filter::kTriangle;
  friend bool operator==(const ComponentAxis&, const ComponentAxis&) = default;
};

// `factor`: pixels that a sample stands for; `size`: the component's extent in samples.
ComponentAxis MakeComponentAxis(const Span& span, std::uint32_t factor, std::uint32_t size,
                                Filter filter) noexcept;

// What each output of an axis takes: a run of `taps` samples, from `first` on, counted from the
// axis' own `first`. Keeps its memory, and does nothing where it is made for the same axis again
// (the next picture, or Cr after Cb, may need the same).
class AxisWeights {
 public:
  // Mirrored: the outputs in reverse order.
  void Make(const kernels::Kernels& set, const ComponentAxis& axis, bool mirrored);

  // Output `i` as a weighted sum of lines, of which `lines` is the axis' first.
  kernels::LineSum Sum(std::uint32_t i, const std::uint8_t* lines,
                       std::size_t stride) const noexcept {
    return {lines + first_[i] * stride, stride, &values_[std::size_t{i} * taps_], taps_};
  }

 private:
  ComponentAxis axis_;
  bool mirrored_ = false;
  std::uint32_t taps_ = 0;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint16_t> values_;
};

}  // namespace sluice
