// The pixels that a blur sees beyond a picture's edge. Included inside a namespace with
// SLUICE_INLINE defined as the function's specifiers: once for the host, and once for devices
// (reader/device).

// The index mirrored into 0 .. size - 1. It must lie less than `size` outside.
SLUICE_INLINE std::int64_t Mirrored(std::int64_t index, std::int64_t size) noexcept {
  if (index < 0) return -index;
  return index < size ? index : 2 * (size - 1) - index;
}
