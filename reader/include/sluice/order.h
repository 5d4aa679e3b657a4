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

// Batches of an epoch that are left out: OrderOptions::skip.
struct SkippedBatches {
  std::uint64_t epoch = 0;  // the epoch that has the batches
  std::uint64_t first = 0;  // the number of the first one in the epoch (Batch::index())
  std::uint64_t count = 1;  // how many batches are left out
  // The samples in each of these batches, over all ranks: batch_size x world_size of the training
  // that counted them. 0: those of this loader. (With OrderOptions::batches, leave it 0.)
  std::uint64_t global_batch = 0;
};

}  // namespace sluice
