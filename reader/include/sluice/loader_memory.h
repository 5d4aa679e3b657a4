// The most memory that a Loader uses.
#pragma once

#include <cstdint>

namespace sluice {

// In bytes. own() is an upper bound on the loader's private memory (anonymous or page-locked). Once
// Loader::Row() was called, own() also counts the memory for Row() and one row; further rows that
// you hold are not counted. `shared` is memory that several loaders use. `window` and `mapped` are
// pages of mapped shards; they belong to the page cache, so the kernel takes them back when it
// needs them, and several processes share them.
struct LoaderMemory {
  // (1 + prefetch + hold) batches, without variable-length and bytes fields. Each row of images
  // that differ in size counts as the largest that can come: see OutputOptions::image_sizes. With
  // OnDevice::decode, also room for 1.25 times the mean size of the pictures' compressed rows.
  std::uint64_t slots = 0;
  // Variable-length and bytes fields, for each chosen field: (1 + prefetch + hold) x batch_size x
  // (twice the field's largest value + 128 bytes). Twice, because a value is stored for its row and
  // then joined with the others. The sizes of the largest values come from the manifest; if an
  // older manifest lacks them, they are read from the shards' tables. Fields that the user's
  // functions make are not counted.
  std::uint64_t variable = 0;
  // The number of threads (with OnDevice::decode, plus one) x (2 MiB + 24 bytes for each pixel of
  // (largest width + 32) x (largest height + 32) + four times the largest payload). That suffices
  // to decode the largest image from any kind of file, for steps that need further buffers, several
  // views, masks and mixing. Most loaders use a tenth of it.
  std::uint64_t scratch = 0;
  // The epoch's order, the shards' directories, the rows of the batches, the list of faults. For a
  // dataset at a URL, also buffers of up to 192 connections (36 MiB), and 100 bytes for each block;
  // with a cache, a second order, and another 24 bytes for each block. With OrderOptions::batches,
  // also the lists of the longest epoch so far.
  std::uint64_t bookkeeping = 0;
  // LoaderOptions::keep: 24 bytes a sample, plus DecodedPictures::bytes if pictures are kept in
  // memory.
  std::uint64_t kept = 0;
  // LoaderOptions::device: memory of the device, not of the host. With OnDevice::images = kDevice,
  // this includes the dataset's images. (The slots' host memory is then page-locked.)
  std::uint64_t device = 0;
  // OnDevice::images: page-locked memory of the host for images on their way to the device (8 MiB).
  // Also, for each sample, 24 bytes, and 12 bytes for each eight
  // lines of the largest image (4 for each of three components).
  std::uint64_t images = 0;
  // For a dataset at a URL, the blocks that are open; the blocks that the ring's batches still
  // need; the blocks on their way or fetched for the next windows (twice Mapped::read_ahead_bytes;
  // if that is empty, 256 MiB); 64 MiB of blocks kept after use; and the shards' directories. With
  // a cache (LoaderOptions::stage), most of that is on disk.
  // With LoaderOptions::storage = Direct, the window and the blocks of the ring's batches, as in
  // `mapped`, plus one block for each thread, each an eighth larger than the mean block.
  // For a source that is played without a conversion: for each thread, room for the largest file
  // and the sample made of it.
  std::uint64_t blocks = 0;
  // The sum of the members above without `device`.
  std::uint64_t own() const noexcept {
    return slots + variable + scratch + bookkeeping + kept + images + blocks;
  }

  // LoaderOptions::share: memory of the machine, once for all loaders that share rows.
  std::uint64_t shared = 0;
  // The blocks open for shuffling at once on this rank; for Shuffle::kSequential one block, for
  // Shuffle::kRandom the whole dataset.
  std::uint64_t window = 0;
  // The bytes of the dataset if its shards are mapped, otherwise 0. Their pages belong to the page
  // cache.
  std::uint64_t mapped = 0;
};

}  // namespace sluice
