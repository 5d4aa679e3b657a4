// The pixels that a blur sees beyond a picture's edge. Included inside a namespace with
// SLUICE_INLINE defined as the function's specifiers: once for the host, and once for devices
// (reader/device).

// The index mirrored into 0 .. size - 1. It must lie less than `size` outside.
template <class Integer>
SLUICE_INLINE Integer Mirrored(Integer index, Integer size) noexcept {
  if (index < 0) return -index;
  return index < size ? index : 2 * (size - 1) - index;
}
