// How much of memory's bandwidth decoding packed images takes, if the images are in memory and not
// in a cache; compared with a plain copy, on one thread and on several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/decode/task.h"
#include "bench/report/interrupted.h"

namespace sluice::bench {

// By round. Bytes a second count bytes read and bytes written, of all threads.
struct BandwidthPoint {
  unsigned threads = 1;
  std::vector<double> copy;           // of memory: bytes a second
  std::vector<double> images;         // a second, packed, from memory
  std::vector<double> cached_images;  // a second, packed, at worst from the last-level cache
};

struct BandwidthFigures {
  std::uint64_t arena_bytes = 0;       // the packed images are spread over it
  double read_bytes_per_image = 0;     // of the payload: the rows that the region touches
  double written_bytes_per_image = 0;  // pixels
  std::vector<BandwidthPoint> points;

  double BytesPerImage() const noexcept { return read_bytes_per_image + written_bytes_per_image; }
};

struct BandwidthOptions {
  unsigned threads = 1;
  std::uint64_t rounds = 7;
  std::uint64_t arena_bytes = 0;  // 0: four times the last-level cache, 256 MiB to 1 GiB
  std::uint64_t copy_bytes = std::uint64_t{256} << 20;  // by each thread in a round
  std::uint64_t images = 1000;                          // decoded by each thread in a round
};

// Measures one thread and `threads`, in turn, round after round. Pictures without a packed form are
// left out; Error(kUnsupported) if there are no others. Throws Interrupted.
BandwidthFigures MeasureBandwidth(const std::vector<DecodeItem>& items,
                                  const BandwidthOptions& options, const std::stop_token& stop);

// The share of a plain copy's rate that packed images take.
double ShareOfCopy(const BandwidthFigures& figures, const BandwidthPoint& point);
// How many threads, each as fast as the one measured alone, would use up the rate that the copy
// reached on the most threads.
double ThreadsToLimit(const BandwidthFigures& figures);

std::string TextOf(const BandwidthFigures& figures);
nlohmann::ordered_json JsonOf(const BandwidthFigures& figures);

}  // namespace sluice::bench
