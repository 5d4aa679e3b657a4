// Philox4x32-10 (format/random.h). Included inside a namespace with SLUICE_INLINE defined as the
// function's specifiers: once for the host, and once for devices (reader/device).

// Turns a counter into its four random words, in place.
SLUICE_INLINE void TakePhilox(std::uint64_t key, std::uint32_t* words) noexcept {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * words[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * words[2];
    words[0] = static_cast<std::uint32_t>(product1 >> 32) ^ words[1] ^ key0;
    words[1] = static_cast<std::uint32_t>(product1);
    words[2] = static_cast<std::uint32_t>(product0 >> 32) ^ words[3] ^ key1;
    words[3] = static_cast<std::uint32_t>(product0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}
