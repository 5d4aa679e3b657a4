// The faults a loader met: Loader::Faults().
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

// A sample that could not be read; or a shard that cannot be opened, with all of its samples.
struct SampleFault {
  std::uint64_t sample = 0;   // its number in the dataset; the shard's first
  std::uint64_t samples = 1;  // of the shard
  std::string shard;          // file, relative to the dataset's folder
  std::string key;            // empty where not even that can be read
  std::string reason;         // a sentence
  std::uint64_t epoch = 0;    // when it was met first
  std::uint64_t times = 0;    // how often it has been met; for a shard, one of its samples
};

}  // namespace sluice
