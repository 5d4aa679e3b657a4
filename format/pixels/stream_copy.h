// Copies that do not fill the processor's caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// Same result as `count` calls of memcpy, each of `bytes` bytes from `in` to `out`, which both
// advance by their strides. If the processor can, the writes go to memory past the caches. Worth it
// for targets that are read much later: memcpy first reads the lines it writes into the cache.
void StreamLines(const std::uint8_t* in, std::size_t in_stride, std::size_t bytes,
                 std::size_t count, std::uint8_t* out, std::size_t out_stride) noexcept;

}  // namespace sluice
