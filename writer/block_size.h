// The default number of samples in a block: a power of two, for blocks of about 512 KiB.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr std::uint64_t kPlannedBlockBytes = 524'288;
inline constexpr std::uint32_t kMaxAutomaticBlockSamples = 4096;

// For samples of `mean_bytes` in a block: the power of two nearest (by ratio) to the planned size.
// Blocks have between 362 and 725 KiB, unless a single sample is larger or 4096 of them are
// smaller.
constexpr std::uint32_t AutomaticBlockSamples(std::uint64_t mean_bytes) noexcept {
  constexpr std::uint64_t kAtLeast = kPlannedBlockBytes * 5 / 7;  // by less than 1/sqrt(2)
  std::uint32_t samples = 1;
  while (samples < kMaxAutomaticBlockSamples && samples * mean_bytes < kAtLeast)
    samples *= 2;
  return samples;
}

}  // namespace sluice
