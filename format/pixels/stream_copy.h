// Copying that leaves the processor's caches to others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// As `count` calls of memcpy, each `bytes` from `in` to `out`, which move on by their strides; but
// what is written goes to memory past the caches, where the processor can do that. Worth it for
// targets that are read much later: what memcpy writes is first read into the cache.
void StreamLines(const std::uint8_t* in, std::size_t in_stride, std::size_t bytes,
                 std::size_t count, std::uint8_t* out, std::size_t out_stride) noexcept;

}  // namespace sluice
