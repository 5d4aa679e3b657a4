// The floor no loader can go below: a bare loop that does an epoch's copies (of raw images) or its
// decoding (of the others) and nothing else, in the loader's order, into a ring of batches as large
// as the loader's, on as many threads.
#pragma once

#include "bench/epoch/run.h"
#include "format/pixels/decode.h"

namespace sluice::bench {

class Floor {
 public:
  // Plays one epoch with a loader of its own, for its order. Raw images are copied as they are
  // stored, whatever the pipeline.
  Floor(const EpochOptions& options, unsigned threads);

  // What a round does: "copies" or "decoding".
  const char* work() const noexcept { return copies_ ? "copies" : "decoding"; }
  // One round of all samples; images a second. Throws Error where an image cannot be decoded.
  double Round();

 private:
  struct Item {
    ImagePayload payload;
    Region region;
  };
  // Where the pixels go: each thread goes round slots of its own, so that no two ever write to one.
  struct Ring {
    std::size_t row_bytes = 1;
    std::size_t rows = 0;   // in a slot
    std::size_t slots = 0;  // of each thread
    std::vector<std::byte> bytes;

    std::byte* Slot(std::size_t thread, std::size_t turn) {
      return bytes.data() + (thread * slots + turn % slots) * rows * row_bytes;
    }
  };

  void Gather(const LoaderOptions& options);
  void DoOne(const Item& item, PayloadDecoder& decoder, std::byte* row) const;

  Dataset dataset_;  // keeps what the payloads point into
  std::vector<Item> items_;
  std::vector<PayloadDecoder> decoders_;  // one for each thread
  bool copies_ = false;
  std::uint32_t channels_ = 0;
  PixelOrder order_ = PixelOrder::kInterleaved;
  Ring ring_;
};

}  // namespace sluice::bench
