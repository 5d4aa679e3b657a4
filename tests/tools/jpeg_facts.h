// Facts about a JPEG file, from libjpeg alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::test {

struct JpegFacts {
  unsigned width = 0, height = 0;
  int components = 0;
  unsigned restart_interval = 0;           // in MCUs; 0: no restart markers
  int luma_width_factor = 0;               // sampling factor of the first component
  int luma_step = 0;                       // the first step of the luminance quantisation table
  std::vector<std::int16_t> coefficients;  // of all components, one after another
};

JpegFacts ReadJpeg(std::span<const std::byte> file);
JpegFacts ReadJpeg(std::string_view file);

// The first step of libjpeg's luminance table at a quality: 16 at quality 50 (ITU-T T.81, table
// K.1), and scaled by the IJG's formula at others.
constexpr int LumaStepAt(int quality) {
  const int scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  const int step = (16 * scale + 50) / 100;
  return step < 1 ? 1 : step;
}

}  // namespace sluice::test
