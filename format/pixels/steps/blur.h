// Filters over a picture's neighbouring pixels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/pixels/steps/colour.h"

namespace sluice {

// Each keeps its memory from picture to picture; one thread at a time.
class Blur {
 public:
  // Weighted means along both axes, first rounded to 1/128 and at the end to whole values.
  // `weights` (an odd number of them, in 1/65536, adding up to 65536) are centred on the pixel. The
  // picture is mirrored at its edges (without repeating the outermost pixel) and must be larger
  // than half of the weights on both axes.
  void Run(const Pixels& pixels, std::span<const std::uint32_t> weights);

 private:
  std::vector<std::uint16_t> wide_;  // the picture, with mirrored rows above and below
  std::vector<std::uint16_t> sums_;  // after the vertical pass, in 1/128
  std::vector<std::uint16_t> line_;
};

class Sharpness {
 public:
  // `factor` blends between a smoothed picture (0) and the picture (1), or beyond: Pillow's
  // ImageEnhance.Sharpness. Smoothing is a mean of 3 x 3 pixels, the middle one counted five times;
  // the outermost pixels are left as they are.
  void Run(const Pixels& pixels, float factor);

 private:
  std::vector<std::uint8_t> smooth_;
};

}  // namespace sluice
