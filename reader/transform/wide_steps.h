// Runs the operations of steps that change pixels on wide images, one channel at a time: those of
// steps that are declared with FitsWide(). Values keep their scale, and are clamped to the range of
// their type only when they are stored.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sluice/image.h>

#include "reader/transform/pixel_op.h"

namespace sluice {

// A channel of a picture as float32. If `has_no_data`, NaN stands for no data: it has no part in
// means, and stays.
struct WidePlane {
  std::vector<float>& values;  // width x height
  std::uint32_t width = 0, height = 0;
  std::size_t channel = 0;  // number of the channel among those of the row
  PixelType type = PixelType::kUint8;
  bool has_no_data = false;
};

// Each thread has one. Keeps its memory.
class WideSteps {
 public:
  // Up to a kEnd. Erased pixels become no data, or 0 if there is no such number.
  void Run(std::span<const PixelOp> ops, const WidePlane& plane);

 private:
  void Blur(const PixelOp* op, const WidePlane& plane);
  std::vector<float> blurred_;
  std::vector<double> sums_, weights_;
};

}  // namespace sluice
