// Playing epochs and keeping copies of the batches.
#pragma once

#include <functional>

#include <sluice/error.h>
#include <sluice/loader.h>

#include "tests/catch.h"

namespace sluice::test {

struct PlayedBatch {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::size_t valid = 0;
  std::vector<std::uint64_t> samples;
  std::vector<std::uint8_t> pixels;

  friend bool operator==(const PlayedBatch&, const PlayedBatch&) = default;
};

inline PlayedBatch Keep(const Batch& batch) {
  PlayedBatch kept{batch.epoch(), batch.index(), batch.valid(), {}, {}};
  kept.samples.assign(batch.samples().begin(), batch.samples().end());
  const ImageBatch& image = batch.image();
  kept.pixels.assign(image.data, image.data + image.samples * image.sample_bytes());
  return kept;
}

// The next `limit` batches of an epoch, or all remaining ones.
inline std::vector<PlayedBatch> PlayBatches(Loader& loader, std::uint64_t epoch,
                                            std::size_t limit = SIZE_MAX) {
  std::vector<PlayedBatch> played;
  if (limit == 0) return played;
  for (const Batch& batch : loader.Epoch(epoch)) {
    played.push_back(Keep(batch));
    if (played.size() == limit) break;
  }
  return played;
}

inline std::vector<std::uint64_t> SamplesOf(const std::vector<PlayedBatch>& batches) {
  std::vector<std::uint64_t> samples;
  for (const PlayedBatch& batch : batches)
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
  return samples;
}

// `threads` empty: the loader chooses.
inline LoaderOptions OptionsFor(std::size_t batch_size, std::optional<unsigned> threads) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.threads = threads;
  return options;
}

// The text of the Error that the action must throw.
inline std::string ErrorText(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    UNSCOPED_INFO(error.what());
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("no error");
  return {};
}

}  // namespace sluice::test
