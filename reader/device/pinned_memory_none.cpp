#include <sluice/error.h>

#include "reader/device/pinned_memory.h"

namespace sluice {

std::byte* AllocatePinned(std::size_t) {
  throw Error(
      ErrorCode::kUnsupported,
      "page-locked batches were asked for, but this build of Sluice has no CUDA; configure it "
      "with -DSLUICE_WITH_CUDA=ON, or leave LoaderOptions::pinned off");
}

void FreePinned(std::byte*) noexcept {}

}  // namespace sluice
