// How much memory this process could still take.
#pragma once

#include <cstdint>

namespace sluice {

// Bytes: what the machine has left without swapping, or what its memory control group (version 1 or
// 2) leaves it, whichever is less. The page cache counts as free: the kernel gives it up.
std::uint64_t AvailableMemory();

}  // namespace sluice
