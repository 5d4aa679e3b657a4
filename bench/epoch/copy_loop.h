// The bare loop to compare a loader of raw images with: threads that copy a part of each image, in
// random order, into batches of their own, and do nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include <sluice/dataset.h>

namespace sluice::bench {

class CopyLoop {
 public:
  // `samples`: numbers in the dataset, as often as each comes in an epoch. Copies the middle `side`
  // x `side` pixels of every image. Throws Error(kUnsupported) if an image is not raw, or is
  // smaller.
  CopyLoop(Dataset dataset, const std::vector<std::uint64_t>& samples, std::uint32_t side,
           std::size_t batch_size, unsigned threads);

  // Plays one epoch. Returns the numbers in the order in which they were copied.
  const std::vector<std::uint64_t>& Play(std::uint64_t epoch);

 private:
  struct Item {
    std::uint64_t number = 0;
    const std::byte* first = nullptr;  // of the part
    std::size_t stride = 0, row_bytes = 0;
  };
  void Copy(unsigned thread, std::size_t begin, std::size_t end);

  Dataset dataset_;  // owns the memory that the items point to
  std::vector<Item> items_;
  std::vector<std::uint64_t> order_;
  std::uint32_t side_;
  std::size_t batch_size_, image_bytes_ = 0;
  // Each thread alternates between two batches, as in a loader's ring.
  std::vector<std::vector<std::byte>> batches_;
};

}  // namespace sluice::bench
