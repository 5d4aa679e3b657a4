// The fixed-point constants of the inverse transform (idct.inc.h).
#pragma once

#include <cstdint>

namespace sluice::kernels {

inline constexpr int kConstBits = 13;  // of fraction
// By their decimal values.
inline constexpr int k0298 = 2446, k0390 = 3196, k0541 = 4433, k0765 = 6270, k0899 = 7373,
                     k1175 = 9633, k1501 = 12299, k1847 = 15137, k1961 = 16069, k2053 = 16819,
                     k2562 = 20995, k3072 = 25172;

// The factors of the passes: instruction sets that multiply by a lane keep these in two vectors.
inline constexpr std::int16_t kFactors[16] = {
    k0541,         k0541 - k1847, k0541 + k0765, k1175 - k1961, k1175,  k1175 - k0390,
    k0298 - k0899, -k0899,        k1501 - k0899, k2053 - k2562, -k2562, k3072 - k2562};

}  // namespace sluice::kernels
