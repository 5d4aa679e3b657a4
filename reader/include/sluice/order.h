// The order of an epoch's samples.
#pragma once

#include <cstdint>

namespace sluice {

// The order of an epoch's samples.
enum class Shuffle {
  kQuasiRandom,  // blocks in random order, samples mixed inside windows of open blocks
  kRandom,       // one permutation of all samples
  kSequential,   // as stored
};

// How to treat the last batch of an epoch if there are too few samples to fill it.
enum class LastBatch {
  kKeep,  // it stays short
  kDrop,  // it is left out
  kPad,   // it is filled up with samples from the epoch's start; Batch::valid() says how many rows
          // are not repeats
};

}  // namespace sluice
