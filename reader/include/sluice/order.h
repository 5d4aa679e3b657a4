// How an epoch's samples follow one another.
#pragma once

#include <cstdint>

namespace sluice {

enum class Shuffle {
  kQuasiRandom,  // blocks in random order, samples mixed inside windows of open blocks
  kRandom,       // one permutation of all samples
  kSequential,   // as stored
};

// The version of all orders together: the same dataset, options and version give the same order.
inline constexpr std::uint32_t kOrderVersion = 1;

}  // namespace sluice
