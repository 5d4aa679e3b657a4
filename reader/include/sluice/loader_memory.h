// What a Loader takes of the machine's memory, at the most.
#pragma once

#include <cstdint>

namespace sluice {

// Bytes. own() is memory that nobody else can use (anonymous or page-locked); the loader stays
// under it. The window is pages of mapped shards, which belong to the page cache: the kernel takes
// them back when it needs them, and several processes share them.
struct LoaderMemory {
  // (1 + prefetch + hold) batches, without variable-length and bytes fields.
  std::uint64_t slots = 0;
  // Those: of each field that is chosen (1 + prefetch + hold) x batch_size x (twice the field's
  // largest value + 128 bytes); a row on its own, and joined with the others. The manifest knows
  // the largest values; of a dataset that was made before it did, the shards' tables are read for
  // them. What the user's functions put there is not counted.
  std::uint64_t variable = 0;
  // threads x (2 MiB + 24 bytes for each pixel of (largest width + 32) x (largest height + 32) +
  // the largest payload): what decoding the largest image takes whatever kind of file it is, and
  // what steps that work beside the batch, several views, masks and mixing need. Most takes a tenth
  // of that.
  std::uint64_t scratch = 0;
  // The epoch's order, the directories of the shards, the rows of the batches, the list of faults.
  std::uint64_t bookkeeping = 0;
  // LoaderOptions::keep: 24 bytes a sample, and DecodedPictures::bytes if they lie in memory.
  std::uint64_t kept = 0;
  // LoaderOptions::device: on the device; the slots are page-locked then. Not of this machine's
  // memory.
  std::uint64_t device = 0;
  // LoaderOptions::storage = Direct: the blocks that are open and those of the batches in the ring,
  // as `mapped` says, and one for each thread, each an eighth larger than the mean block.
  std::uint64_t blocks = 0;
  std::uint64_t own() const noexcept {
    return slots + variable + scratch + bookkeeping + kept + blocks;
  }

  // The blocks that are open for shuffling at once on this rank; for Shuffle::kSequential one block
  // and for Shuffle::kRandom the dataset.
  std::uint64_t window = 0;
  // Pages that are mapped at once, 0 where LoaderOptions::storage = Direct reads blocks past them:
  // a window and the blocks of the batches in the ring, which is under two windows where a window
  // holds as many samples as the ring; and where several ranks share an epoch's tail, its blocks:
  // one for each of all lanes where they are of one size. With Behind::kKeep, the whole dataset.
  std::uint64_t mapped = 0;
};

}  // namespace sluice
