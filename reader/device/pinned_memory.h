// The seam behind which page-locked memory comes from: CUDA where the build has it
// (pinned_memory_cuda.cpp), a clear refusal where it does not (pinned_memory_none.cpp).
#pragma once

#include <cstddef>

namespace sluice {

// Zeroed page-locked memory, usable by every device. Throws Error(kUnsupported).
std::byte* AllocatePinned(std::size_t bytes);
void FreePinned(std::byte* memory) noexcept;

}  // namespace sluice
