// Loops that do only the work that a loader cannot avoid. They show how fast a loader could be.
#pragma once

#include <cstdint>
#include <vector>

#include <sluice/dataset.h>

#include "bench/epoch/run.h"
#include "format/pixels/decode.h"

namespace sluice::bench {

// The loop that loaders of raw images are compared with: threads copy a part of each image, in
// random order, into batches of their own, and do nothing else.
class CopyLoop {
 public:
  // `samples`: indices in the dataset, each as often as it comes in an epoch. Copies the middle
  // `side` x `side` pixels of every image. Throws Error(kUnsupported) if an image is not raw or is
  // smaller.
  CopyLoop(Dataset dataset, const std::vector<std::uint64_t>& samples, std::uint32_t side,
           std::size_t batch_size, unsigned threads);

  // Plays one epoch. Returns the indices in the order in which the images were copied.
  const std::vector<std::uint64_t>& Play(std::uint64_t epoch);

 private:
  struct Item {
    std::uint64_t number = 0;
    const std::byte* first = nullptr;       // first byte of the part to copy
    std::size_t stride = 0, row_bytes = 0;  // bytes from row to row, and bytes to copy of a row
  };
  void Copy(unsigned thread, std::size_t begin, std::size_t end);

  Dataset dataset_;  // owns the memory that the items point to
  std::vector<Item> items_;
  std::vector<std::uint64_t> order_;
  std::uint32_t side_;
  std::size_t batch_size_, image_bytes_ = 0;
  // By thread: memory for two batches, between which the thread alternates, as in a loader's ring.
  std::vector<std::vector<std::byte>> batches_;
};

// The least time that a loader needs: a loop that only copies an epoch's images if all of them are
// raw, and else only decodes them, in the loader's order, into a ring of batches as large as the
// loader's, on as many threads.
class Floor {
 public:
  // Plays one epoch with a loader of its own, to get its order. If all images are raw, they are
  // copied as they are stored, whatever the transform.
  Floor(const EpochOptions& options, unsigned threads);

  // The work of a round: "copies" or "decoding".
  const char* work() const noexcept { return copies_ ? "copies" : "decoding"; }
  // Plays one round over all samples. Returns images per second. Throws Error if an image cannot be
  // decoded.
  double Round();

 private:
  struct Item {
    std::uint64_t number = 0;  // the sample's number in the dataset
    ImagePayload payload;
    Region region;
  };
  // Where pixels are written. Each thread cycles through its own slots, so no two threads write to
  // the same slot.
  struct Ring {
    std::size_t row_bytes = 1;  // room for one image
    std::size_t rows = 0;       // rows in a slot
    std::size_t slots = 0;      // slots of each thread
    std::vector<std::byte> bytes;

    std::byte* Slot(std::size_t thread, std::size_t turn) {
      return bytes.data() + (thread * slots + turn % slots) * rows * row_bytes;
    }
  };

  void Gather(const LoaderOptions& options);
  void DoOne(const Item& item, PayloadDecoder& decoder, std::byte* row) const;

  Dataset dataset_;  // owns the memory that the payloads point to
  std::vector<Item> items_;
  std::vector<PayloadDecoder> decoders_;  // one for each thread
  bool copies_ = false;
  std::uint32_t channels_ = 0;
  PixelOrder order_ = PixelOrder::kInterleaved;
  Ring ring_;
};

}  // namespace sluice::bench
