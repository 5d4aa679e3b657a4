// The memory that this process may still allocate.
#pragma once

#include <cstdint>

namespace sluice {

// Bytes: the memory that the machine has left without swapping, or that its memory control group
// (version 1 or 2) leaves to it, whichever is less. The page cache counts as free, because the
// kernel gives it up.
std::uint64_t AvailableMemory();

}  // namespace sluice
