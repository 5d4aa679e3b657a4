// The kernels for 64-bit Arm, where NEON is part of every processor.
#include <cstring>

#include <arm_neon.h>

#include "format/pixels/kernels/kernels.h"
#include "format/pixels/kernels/tables.h"

#define SLUICE_INLINE inline __attribute__((always_inline))
#define SLUICE_SET_NAME "neon"

namespace sluice::kernels::neon {
// In the order of use.
// clang-format off
#include "format/pixels/kernels/vector_neon.h"
#include "format/pixels/kernels/lines_neon.h"
#include "format/philox.inc.h"
#include "format/pixels/kernels/pixel.inc.h"
namespace compiled {  // steps_neon.h takes those that the compiler vectorises well
#include "format/pixels/kernels/steps_plain.h"
}
#include "format/pixels/kernels/bytes_neon.h"
#include "format/pixels/kernels/steps_vector.inc.h"
#include "format/pixels/kernels/steps_neon.h"
#include "format/pixels/kernels/set.inc.h"
// clang-format on
}  // namespace sluice::kernels::neon

namespace sluice::kernels {
const Kernels& NeonKernels() noexcept {
  return neon::kSet;
}
}  // namespace sluice::kernels
