// The kernels for AVX2, F16C, BMI2 and MOVBE. Only this file and kernels_avx512.cpp are compiled
// for these instructions. So they use no inline function of the standard library: the linker could
// take their copy of such a function for the whole program.
#include <cstring>

#include <immintrin.h>

#include "format/pixels/kernels/kernels.h"
#include "format/pixels/kernels/tables.h"

#define SLUICE_INLINE inline __attribute__((always_inline))
#define SLUICE_SET_NAME "avx2"

namespace sluice::kernels::avx2 {
// In the order of use.
// clang-format off
#include "format/pixels/kernels/vector_avx2.h"
#include "format/pixels/kernels/lines_avx2.h"
#include "format/philox.inc.h"
#include "format/pixels/kernels/pixel.inc.h"
#include "format/pixels/kernels/bytes_avx2.h"
#include "format/pixels/kernels/steps_vector.inc.h"
#include "format/pixels/kernels/steps_avx2.h"
#include "format/pixels/kernels/set.inc.h"
// clang-format on
}  // namespace sluice::kernels::avx2

namespace sluice::kernels {
const Kernels& Avx2Kernels() noexcept {
  return avx2::kSet;
}
}  // namespace sluice::kernels
