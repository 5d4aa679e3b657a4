// A fault that a loader found: see Loader::Faults().
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

// A sample that could not be read, or a shard that could not be opened, with all of its samples.
struct SampleFault {
  std::uint64_t sample = 0;   // the sample's number in the dataset; for a shard, its first sample's
  std::uint64_t samples = 1;  // for a shard, the number of its samples
  std::string shard;          // the file, relative to the dataset's folder
  std::string key;            // empty if it cannot be read either
  std::string reason;         // why, as a sentence
  std::uint64_t epoch = 0;    // the epoch in which the fault was first found
  std::uint64_t times = 0;    // how often the loader met it; for a shard, summed over its samples
};

}  // namespace sluice
