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
  std::vector<std::uint8_t> pixels;  // of the image, then of each view that was asked for

  friend bool operator==(const PlayedBatch&, const PlayedBatch&) = default;
};

// The image of a batch, then its views of these names.
inline std::vector<ImageBatch> ImageAndViews(const Batch& batch,
                                             const std::vector<std::string>& views) {
  std::vector<ImageBatch> images = {batch.image()};
  for (const std::string& view : views)
    images.push_back(batch.image(view));
  return images;
}

inline PlayedBatch Keep(const Batch& batch, const std::vector<std::string>& views = {}) {
  PlayedBatch kept{batch.epoch(), batch.index(), batch.valid(), {}, {}};
  kept.samples.assign(batch.samples().begin(), batch.samples().end());
  for (const ImageBatch& image : ImageAndViews(batch, views)) {
    kept.pixels.insert(kept.pixels.end(), image.data,
                       image.data + image.samples * image.sample_bytes());
  }
  return kept;
}

// The next `limit` batches of an epoch, or all remaining ones.
inline std::vector<PlayedBatch> PlayBatches(Loader& loader, std::uint64_t epoch,
                                            std::size_t limit = SIZE_MAX,
                                            const std::vector<std::string>& views = {}) {
  std::vector<PlayedBatch> played;
  if (limit == 0) return played;
  for (const Batch& batch : loader.Epoch(epoch)) {
    played.push_back(Keep(batch, views));
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
