// The new value that EqualizePixels() and StretchContrast() give an old one, by how often a channel
// has each value. Included inside a namespace with SLUICE_INLINE defined as the functions'
// specifiers: once for the host, and once for devices (reader/device). IEEE 754 arithmetic, as
// everywhere in steps.

// The number of pixels for one step of the equalized values, or 0 if nothing changes. `last`: how
// many pixels have the greatest value that occurs.
SLUICE_INLINE std::uint64_t EqualStep(std::uint64_t pixels, std::uint64_t last) noexcept {
  return (pixels - last) / 255;
}
// The new value of one that `below` pixels lie below.
SLUICE_INLINE std::uint8_t EqualValue(std::uint64_t below, std::uint64_t step) noexcept {
  const std::uint64_t value = (step / 2 + below) / step;
  return static_cast<std::uint8_t>(value < 255 ? value : 255);
}

// The scale for values from `low` to `high`; high > low.
SLUICE_INLINE double StretchScale(int low, int high) noexcept {
  return 255.0 / (high - low);
}
SLUICE_INLINE std::uint8_t StretchedValue(int value, int low, double scale) noexcept {
  const double offset = -low * scale;
  const double stretched = value * scale + offset;
  const double above = stretched < 0.0 ? 0.0 : stretched;
  return static_cast<std::uint8_t>(above > 255.0 ? 255.0 : above);
}
