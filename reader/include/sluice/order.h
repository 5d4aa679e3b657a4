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

// How to treat a short last batch of an epoch.
enum class LastBatch {
  kKeep,  // the last batch of an epoch may be short
  kDrop,  // a short last batch is left out
  kPad,   // a short last batch is filled up with samples from the epoch's start; Batch::valid()
          // says how many rows are not repeats
};

}  // namespace sluice
