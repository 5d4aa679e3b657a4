// Where an epoch's time went, stage by stage.
#pragma once

#include <string>
#include <vector>

#include "bench/epoch/run.h"

namespace sluice::bench {

struct StagePart {
  std::string name, description;
  double share = 0;  // of its stage's time at work
};

struct Stage {
  std::string name, description;
  unsigned threads = 1;
  double images = 0;           // images that the seconds were spent on
  double seconds = 0;          // at work, summed over its threads
  double waiting_seconds = 0;  // for another stage
  std::vector<StagePart> parts;
};

// The loader's stages over the measured epochs (cold: over the last). The parts of decoding are
// measured afterwards, by decoding some of the dataset's JPEGs or packed images on one thread;
// the list is empty if our decoder does not handle these images. The rest of the stage's time is
// its last part. Batches that go to a device have a stage for their copies.
std::vector<Stage> StagesOf(const EpochOptions& options, const EpochsRun& run,
                            const std::stop_token& stop);

}  // namespace sluice::bench
