// The kernels for AVX-512, in addition to the instructions of kernels_avx2.cpp. Only this file is
// compiled for AVX-512. So it uses no inline function of the standard library: the linker could
// take this file's copy of the function for the whole program.
#include <cstring>

#include <immintrin.h>

#include "format/pixels/kernels/kernels.h"
#include "format/pixels/kernels/tables.h"

#define SLUICE_INLINE inline __attribute__((always_inline))
#define SLUICE_SET_NAME "avx512"

namespace sluice::kernels::avx512 {
// In the order of use.
// clang-format off
#include "format/pixels/kernels/vector_avx512.h"
#include "format/pixels/kernels/lines_avx2.h"
#include "format/philox.inc.h"
#include "format/pixels/kernels/pixel.inc.h"
#include "format/pixels/kernels/bytes_avx2.h"
#include "format/pixels/kernels/steps_vector.inc.h"
#include "format/pixels/kernels/steps_avx2.h"
#include "format/pixels/kernels/set.inc.h"
#include "format/pixels/kernels/coding_avx512.h"
// clang-format on
}  // namespace sluice::kernels::avx512

namespace sluice::kernels {
const Kernels& Avx2Kernels() noexcept;

const Kernels& Avx512Kernels() noexcept {
  static const Kernels set = [] {
    Kernels kernels = avx512::kSet;
    kernels.code_blocks = avx512::CodeByLists;
    kernels.unpack_line = Avx2Kernels().unpack_line;  // faster: it needs no mask registers
    return kernels;
  }();
  return set;
}
}  // namespace sluice::kernels
