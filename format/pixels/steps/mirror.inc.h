// What lies beyond a picture's edge for a blur. Included inside a namespace, with SLUICE_INLINE
// saying what kind of function this is: once for the host, and once for devices (reader/device).

// The index mirrored into 0 .. size - 1; it lies less than `size` outside.
SLUICE_INLINE std::int64_t Mirrored(std::int64_t index, std::int64_t size) noexcept {
  if (index < 0) return -index;
  return index < size ? index : 2 * (size - 1) - index;
}
