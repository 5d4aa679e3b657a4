// Playing epochs and taking their figures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/loader.h>

namespace sluice::bench {

struct EpochOptions {
  std::filesystem::path dataset;
  LoaderOptions loader;
  std::uint64_t epochs = 3;   // measured ones
  std::uint64_t warm_up = 1;  // played before them
  double step_ms = 0;         // the consumer sleeps that long with each batch in hand
  // Each epoch gets a loader of its own, made once the dataset has been dropped from the page
  // cache: a file that is mapped keeps its pages.
  bool cold = false;
  bool floor = false;  // also measure a bare loop, afterwards
};

struct EpochFigures {
  bool warm_up = false;
  double seconds = 0;  // to the last batch given back; when cold, from opening the dataset on
  std::uint64_t images = 0;
  std::uint64_t batches = 0;
  std::uint64_t bytes_read = 0;           // of payloads that were decoded
  double wait_seconds = 0;                // the consumer had no batch
  std::uint64_t read_ahead_bytes = 0;     // of blocks made resident before they were decoded
  std::uint64_t decode_major_faults = 0;  // pages that decoding threads waited for
  double cpu_seconds = 0;                 // of the whole process
  std::uint64_t peak_bytes = 0;           // of the process until then
  std::uint64_t anonymous_bytes = 0;      // at the epoch's end
  std::uint64_t left_in_cache_bytes = 0;  // cold: what could not be dropped before
};

// What a bare loop of the same work reaches (bench/floor.h).
struct FloorFigures {
  std::string work;              // "copies", "decoding"
  double images_per_second = 0;  // the median of as many rounds as epochs
};

struct EpochsRun {
  std::vector<EpochFigures> epochs;  // warm-up first
  double first_batch_seconds = 0;    // from the process's start
  unsigned threads = 0;
  std::size_t slot_bytes = 0;                       // the loader's ring of batches
  LoaderMemory memory;                              // the bound that the loader states
  std::size_t height = 0, width = 0, channels = 0;  // of the images in a batch
  std::uint64_t samples = 0;
  std::uint64_t dataset_bytes = 0;
  std::optional<FloorFigures> floor;
  std::string verdict;  // of the loader, over the measured epochs (cold: over the last)
};

struct EpochHooks {
  std::function<void(std::uint64_t epoch, std::uint64_t images, std::uint64_t images_in_all)>
      on_batch;
  std::function<void(const EpochFigures&)> on_epoch;
  std::stop_token stop;
};

// Fills in what depends on the dataset: no transform given means none where all images have one
// size, else a random-resized-crop to 224.
Pipeline DefaultTransform(const Dataset& dataset);

// Throws Error, and Interrupted where the stop token asked for it.
struct Interrupted {};
EpochsRun RunEpochs(const EpochOptions& options, const EpochHooks& hooks);

}  // namespace sluice::bench
