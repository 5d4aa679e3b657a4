// What EqualizePixels() and StretchContrast() make of a value, by how often a channel has each.
// Included inside a namespace, with SLUICE_INLINE saying what kind of functions these are: once for
// the host, and once for devices (reader/device). IEEE 754 arithmetic, as everywhere in steps.

// How many pixels come to one step of the equalized values; `last`: of the values that occur, the
// greatest one's number. 0: nothing changes.
SLUICE_INLINE std::uint64_t EqualStep(std::uint64_t pixels, std::uint64_t last) noexcept {
  return (pixels - last) / 255;
}
// Of a value that so many pixels lie below.
SLUICE_INLINE std::uint8_t EqualValue(std::uint64_t below, std::uint64_t step) noexcept {
  const std::uint64_t value = (step / 2 + below) / step;
  return static_cast<std::uint8_t>(value < 255 ? value : 255);
}

// Of values from `low` to `high`, which is more.
SLUICE_INLINE double StretchScale(int low, int high) noexcept {
  return 255.0 / (high - low);
}
SLUICE_INLINE std::uint8_t StretchedValue(int value, int low, double scale) noexcept {
  const double offset = -low * scale;
  const double stretched = value * scale + offset;
  const double above = stretched < 0.0 ? 0.0 : stretched;
  return static_cast<std::uint8_t>(above > 255.0 ? 255.0 : above);
}
