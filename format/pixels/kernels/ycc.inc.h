// From RGB to the samples that a JPEG stores, to the values that libjpeg gives them. Plain loops,
// which the compiler makes vectors of: it need not ask whether lines overlap. Included once for
// each instruction set.

// JFIF 1.02: the weights in 1/65536; Y rounded to the nearest, the others with halves towards zero.
inline void LineToYcc(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b,
                      std::size_t count, std::uint8_t* __restrict y, std::uint8_t* __restrict cb,
                      std::uint8_t* __restrict cr) {
  constexpr std::int32_t kMiddle = (128 << 16) + 32767;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t red = r[i], green = g[i], blue = b[i];
    y[i] = static_cast<std::uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 32768) >> 16);
    cb[i] = static_cast<std::uint8_t>((blue * 32768 - red * 11059 - green * 21709 + kMiddle) >> 16);
    cr[i] = static_cast<std::uint8_t>((red * 32768 - green * 27439 - blue * 5329 + kMiddle) >> 16);
  }
}

// Means of 2 x 2 values. What is added before the division is 1 and 2 in turns, so that they are
// neither too small nor too large on the whole.
inline void HalveLines(const std::uint8_t* above, const std::uint8_t* below, std::size_t count,
                       std::uint8_t* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t sum = std::uint32_t{above[2 * i]} + above[2 * i + 1] + below[2 * i] +
                              below[2 * i + 1] + 1 + static_cast<std::uint32_t>(i & 1);
    out[i] = static_cast<std::uint8_t>(sum >> 2);
  }
}
