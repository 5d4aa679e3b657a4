// One axis of a resampling: which samples an interval touches, and how much of each goes into each
// output.
//
// There are two filters (see Filter in sluice/image.h). Both weight a sample by the distance of its
// centre from the output's centre: the weight falls with the distance, is zero beyond the reach,
// and the run of samples is clipped at the edge of those that may be used. An output's weights are
// in 1/65536 and add up to 65536; but if a single sample has weight, its weight is 65535, the most
// that 16 bits hold.
//
// To add a third filter, add a value to Filter and the filter's shares to kernels/weights.inc.h
// (weights are unsigned: with negative lobes, the sums of all lines_*.h change). If it reaches
// further than the triangle, change NeededPixels() in decode.cpp. resample.h has only the triangle,
// and needs no change. The filter also goes into these files, where
// "kArea\b|:area\b|Filter.AREA|area filter|(by|triangle,) area|\"area\"}" shows how:
//   format/include/sluice/image.h         the enumeration
//   format/pixels/axis.cpp                its reach
//   reader/transform/step.h               Filtering()
//   reader/python/binding/steps.cpp
//   reader/TRANSFORMS.md
//   reader/include/sluice/parse_pipeline.h
//   bench/parts/decode_ways.cpp
//   bench/parts/decode.cpp                --help
//   bench/compare/measure.cpp
//   bench/compare/report.cpp
//   samples/guides/from-imagefolder.md
//   tests/pixels/interleaved_test.cpp     its formula, as in decode_ways.cpp
//   tests/device/axis_weights_test.cpp
//   tests/device/jpeg_decoding_test.cpp
//   tests/device/raw_pixels_test.cpp
//   tests/reader/parse_pipeline_test.cpp
//   tests/reader/preprocess_test.cpp
//   tests/python/test_values.py
//   tests/pixels/packed_test.cpp
//   not tests/reader/golden_rows_test.cpp  needs no change: an example with area
//   not format/pixels/planar.cpp          needs no change: it chooses area for chroma
//   not writer/README.md                  needs no change: it names the filter of chroma
//   not reader/include/sluice/transform.h  needs no change: an example with area
//   not reader/transform/parse_pipeline.cpp  needs no change: an example with area
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/decode.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice {

// How a Span lies on one axis of a component, in the component's samples.
struct ComponentAxis {
  double start = 0, length = 0;            // the interval that is resampled
  std::uint32_t bound = 0, bound_end = 0;  // samples that may be used: [bound, bound_end)
  std::uint32_t first = 0, last = 0;       // samples that have weight: [first, last)
  std::uint32_t out = 0;                   // the number of outputs
  Filter filter = Filter::kTriangle;
  friend bool operator==(const ComponentAxis&, const ComponentAxis&) = default;
};

// `reduction`: pixels that a sample stands for; `size`: the component's extent in samples.
ComponentAxis MakeComponentAxis(const Span& span, std::uint32_t reduction, std::uint32_t size,
                                Filter filter) noexcept;
// Like MakeComponentAxis(), in pixels of a part of a picture that was reduced by `reduction` and
// lacks the first `origin` reduced pixels. All `size` pixels of the part may be used.
ComponentAxis AxisOfPart(const Span& span, std::uint32_t reduction, std::uint32_t origin,
                         std::uint32_t size, Filter filter) noexcept;

// Whether the span copies pixels one to one.
bool CopiesPixels(const Span& span) noexcept;

// `mirrored`: the outputs come in reverse order.
kernels::WeightRule WeightRuleOf(const ComponentAxis& axis, bool mirrored) noexcept;

// The samples and weights of each output of an axis: a run of `taps` samples, counted from the
// axis' own `first`, and their weights. Keeps its memory. Make() does nothing if the axis is the
// same as before, as it may be for the next picture, or for Cr after Cb.
class AxisWeights {
 public:
  void Make(const kernels::Kernels& set, const ComponentAxis& axis, bool mirrored);

  // Output `i` as a weighted sum of lines; `lines` points to the axis' first line.
  kernels::LineSum Sum(std::uint32_t i, const std::uint8_t* lines,
                       std::size_t stride) const noexcept {
    return {lines + first_[i] * stride, stride, &values_[std::size_t{i} * taps_], taps_};
  }
  std::uint32_t taps() const noexcept { return taps_; }
  const std::vector<std::uint32_t>& firsts() const noexcept { return first_; }
  const std::vector<std::uint16_t>& values() const noexcept { return values_; }

 private:
  ComponentAxis axis_;
  bool mirrored_ = false;
  std::uint32_t taps_ = 0;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint16_t> values_;
};

}  // namespace sluice
