// The fixed-point constants of the inverse transform (idct.inc.h).
#pragma once

#include <cstdint>

namespace sluice::kernels {

inline constexpr int kConstBits = 13;  // of fraction
// By their decimal values.
inline constexpr int k0298 = 2446, k0390 = 3196, k0541 = 4433, k0765 = 6270, k0899 = 7373,
                     k1175 = 9633, k1501 = 12299, k1847 = 15137, k1961 = 16069, k2053 = 16819,
                     k2562 = 20995, k3072 = 25172;

// What a frequency adds to the mean of the first two samples, and to that of the third and fourth
// where it is an odd one: sqrt(2) cos(k pi / 16) cos(k pi / 8), and with cos(3 k pi / 8).
inline constexpr std::int16_t kMeans[8][2] = {{}, {10498, 4348}, {7568, 0},  {3686, -8900},
                                              {}, {-2463, 5946}, {-3135, 0}, {-2088, -865}};

// The factors of the passes: instruction sets that multiply by a lane keep these in three vectors.
inline constexpr std::int16_t kFactors[24] = {
    k0541,         k0541 - k1847, k0541 + k0765, k1175 - k1961, k1175,        k1175 - k0390,
    k0298 - k0899, -k0899,        k1501 - k0899, k2053 - k2562, -k2562,       k3072 - k2562,
    kMeans[1][0],  kMeans[2][0],  kMeans[3][0],  kMeans[5][0],  kMeans[6][0], kMeans[7][0],
    kMeans[1][1],  kMeans[3][1],  kMeans[5][1],  kMeans[7][1]};

}  // namespace sluice::kernels
