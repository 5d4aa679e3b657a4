// The kernels in plain C++, for every machine.
#include <cstring>

#include "format/pixels/kernels/kernels.h"
#include "format/pixels/kernels/tables.h"

#define SLUICE_INLINE inline
#define SLUICE_SET_NAME "plain"

namespace sluice::kernels::plain {
// In the order of use.
// clang-format off
#include "format/pixels/kernels/vector_plain.h"
#include "format/pixels/kernels/lines_plain.h"
#include "format/philox.inc.h"
#include "format/pixels/kernels/pixel.inc.h"
#include "format/pixels/kernels/steps_plain.h"
#include "format/pixels/kernels/set.inc.h"
// clang-format on
}  // namespace sluice::kernels::plain

namespace sluice::kernels {
const Kernels& PlainKernels() noexcept {
  return plain::kSet;
}
}  // namespace sluice::kernels
