// The most memory that a Loader uses, and the memory that is left.
#pragma once

#include <cstdint>

namespace sluice {

// The most memory that a Loader uses, in bytes:
//
//   own()    its private memory (anonymous or page-locked)
//   shared   memory that several loaders use together
//   mapped   pages of mapped shards
//   device   memory of the device
//
// Pages of mapped shards belong to the page cache: the kernel takes them back when it needs them,
// and several processes share them.
//
// Once Loader::Row() has been called, own() also counts the memory of Row() and one row. Further
// rows that you hold are not counted.
struct LoaderMemory {
  // (1 + prefetch + hold) batches, without variable-length and bytes fields. If images differ in
  // size, each row counts as the largest image that can come: see OutputOptions::image_sizes. With
  // OnDevice::decode, also 1.25 times the mean compressed size of a picture for each row.
  std::uint64_t slots = 0;
  // Variable-length and bytes fields. For each chosen field:
  //
  //   (1 + prefetch + hold) x batch_size x (2 x size of the field's largest value + 128 bytes)
  //
  // A value counts twice because it is stored for its row and then joined with the others. The
  // sizes come from the manifest. If an older manifest lacks them, they are read from the shards'
  // tables. With Mosaic, a row has the values of four samples. Fields that the user's functions
  // make are not counted.
  //
  // A row's instances are runs, which take at most
  //
  //   2 x size of the largest value + most objects x (16 x width of the row + 32) bytes
  //
  // where the objects are those of the sample with the most boxes (with Mosaic, of four such
  // samples), or BoxRule::most, if that is less.
  //
  // A loader is refused if its slots do not fit into the memory that the machine has left. For
  // that, these fields count by the mean size of their stored values, instances too, and not by
  // this bound: few rows have the largest value, and few objects are as wide as the row, so the
  // bound would refuse loaders that fit.
  std::uint64_t variable = 0;
  // Memory in which threads decode. For each thread:
  //
  //   2 MiB + 4 x largest payload + (largest width + 32) x (largest height + 32) x 24 bytes
  //
  // Images of other types than uint8, or with more than four channels, take this instead of the 24
  // bytes:
  //
  //   16 MiB
  //   + the largest stored image, with all channels (for a mask, twice)
  //   + 8 bytes for each pixel of that image
  //   + the largest image in a row of a batch, with its channels
  //   + 16 bytes for each pixel of that image
  //
  // This counts once for the picture in its largest view, and once for the other field that takes
  // the most.
  // Fields of instances add four times what they take of a sample (see `variable`; BoxRule::most
  // lowers nothing here), and with Mosaic three times what a sample's and a row's take.
  // OnDevice::decode adds a thread. Several views add 8 bytes a pixel. Masks, mixing, and steps
  // that need further buffers add those buffers. LoaderOptions::keep doubles the sum. The sum
  // suffices to decode the largest image from any kind of file; most loaders use a tenth of it.
  std::uint64_t scratch = 0;
  // The epoch's order, the shards' directories, the rows of the batches, the list of faults. Also:
  //
  //   OrderOptions::batches   the lists of the longest epoch so far
  //   a dataset at a URL      buffers of up to 192 connections (36 MiB), and 100 bytes a block
  //   LoaderOptions::stage    a second order, and 24 bytes a block
  std::uint64_t bookkeeping = 0;
  // LoaderOptions::keep: 24 bytes a sample, plus DecodedPictures::bytes if pictures are kept in
  // memory.
  std::uint64_t kept = 0;
  // LoaderOptions::device: memory of the device, not of the host. With OnDevice::images = kDevice,
  // this includes the dataset's images. (With a device, the host memory in `slots` is page-locked.)
  std::uint64_t device = 0;
  // OnDevice::images, in host memory: 8 MiB, page-locked, for images on their way to the device.
  // Also, for each sample:
  //
  //   24 bytes + 12 bytes x (height of the dataset's highest image / 8) + its payload's bytes / 32
  std::uint64_t images = 0;
  // Blocks of the dataset that are held in memory.
  //
  // For a dataset at a URL, or with a stage (LoaderOptions::stage), the sum of
  //
  //   the blocks that are open;
  //   the blocks that batches in the ring still need;
  //   the blocks on their way, and those fetched for the next windows: twice
  //     Mapped::read_ahead_bytes, or 256 MiB if the loader chooses read_ahead_bytes;
  //   one block for each thread;
  //   64 MiB of blocks kept after use;
  //   the shards' directories.
  //
  // With a stage, most of these blocks are on disk.
  //
  // With LoaderOptions::storage = Direct, the sum of
  //
  //   the blocks that are open;
  //   the blocks that batches in the ring still need;
  //   one block for each thread.
  //
  // Both sums allow for blocks 1/8 larger than the mean block.
  //
  // For a source that is played without a conversion: for each thread, room for the largest file
  // and for the sample made of it.
  std::uint64_t blocks = 0;
  // The sum of the members above, without `device`.
  std::uint64_t own() const noexcept {
    return slots + variable + scratch + bookkeeping + kept + images + blocks;
  }

  // LoaderOptions::share: memory of the machine, used once for all loaders that share rows.
  std::uint64_t shared = 0;
  // The size of the blocks that are open for shuffling at the same time on this rank. Not an
  // addition to the others: what is in memory of these blocks is part of `mapped` or `blocks`. For
  // Shuffle::kSequential it is one block, for Shuffle::kRandom the whole dataset. In a mixture with
  // weights, it is the sum over the datasets. 0 for a source that is played without a conversion:
  // no blocks stay open.
  std::uint64_t window = 0;
  // The bytes of the whole dataset if its shards are mapped, otherwise 0.
  std::uint64_t mapped = 0;
};

// Bytes that this process may still allocate: the memory that the machine has left without
// swapping, or that its memory control group (version 1 or 2) leaves to it, whichever is less. The
// page cache counts as free, because the kernel gives it up.
std::uint64_t AvailableMemory();

}  // namespace sluice
