// The whole part of factor * d is a step function of the factor, whose steps are the fractions p /
// q with q up to 255. Two of these are at least 1 / (255 * 254) apart, which is more than 1 /
// 65536. So for every factor there is a multiple of 1 / 65536 that gives the same whole parts,
// except where floats are rounded up to a whole number. The candidates are the factor's two
// neighbours.
#include "format/pixels/kernels/kernels.h"

namespace sluice::kernels {

BlendFactor BlendFactorOf(float factor) noexcept {
  BlendFactor result;
  result.factor = factor;
  if (!(factor >= 0 && factor < 2)) return result;
  const std::uint32_t whole = factor >= 1 ? 1 : 0;
  const auto below = static_cast<std::uint32_t>((factor - static_cast<float>(whole)) * 65536);
  // Without branches and comparisons of floats, so that the compiler vectorises these loops.
  std::uint16_t products[256] = {};  // their whole parts
  int near = 0;
  for (int d = 1; d < 256; ++d) {
    const float product = factor * static_cast<float>(d);
    const int part = static_cast<int>(product);
    products[d] = static_cast<std::uint16_t>(part);
    // Sums of up to 255 are rounded by 2^-17 at most; larger ones become 255.
    const int rest = static_cast<int>((product - static_cast<float>(part)) * 32768);
    near |= static_cast<int>(rest == 0) | static_cast<int>(rest == 32767);
  }
  for (std::uint32_t fraction = below; !result.scales && fraction <= below + 1; ++fraction) {
    if (fraction > 65535) break;
    std::uint16_t difference = 0;
    for (std::uint16_t d = 0; d < 256; ++d) {
      const auto part = static_cast<std::uint16_t>(std::uint32_t{d} * fraction >> 16);
      const auto sum = static_cast<std::uint16_t>(d * whole + part);
      difference = static_cast<std::uint16_t>(difference | (products[d] ^ sum));
    }
    if (difference != 0) continue;
    result.whole = static_cast<std::uint16_t>(whole);
    result.fraction = static_cast<std::uint16_t>(fraction);
    result.scales = true;
  }
  result.blends = result.scales && near == 0;
  return result;
}

}  // namespace sluice::kernels
