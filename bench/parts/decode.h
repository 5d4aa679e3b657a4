// `sluice-bench decode`: JPEG payloads with a region each, the ways of decoding them
// (decode_ways.cpp), and how much of memory's bandwidth that takes (bandwidth.cpp). Other commands
// take their pictures, reference pixels and stages from here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/dataset.h>
#include <sluice/transform.h>

#include "bench/report/result.h"
#include "format/pixels/decode.h"

namespace sluice::bench {

// One picture to decode into target_width x target_height RGB, as a JPEG and packed. `payload` and
// `packed` point into the sample, or into `other_form`, which holds the form made for this.
struct DecodeItem {
  std::optional<Sample> sample;  // of a dataset at a URL, it keeps the block
  ImagePayload payload;          // a JPEG
  ImagePayload packed;           // the JPEG, if it has no packed form
  bool stored_packed = false;    // the dataset holds `packed`
  Region region;
  std::vector<std::byte> other_form;
};

// A way of decoding. Keeps its memory from picture to picture, as a worker thread would.
class DecodeVariant {
 public:
  virtual ~DecodeVariant() = default;
  // Fills `rgb`, interleaved. Throws Error if the picture cannot be decoded.
  virtual void Decode(const DecodeItem& item, std::uint8_t* rgb) = 0;
};

struct NamedVariant {
  std::string name;
  std::string description;
  std::unique_ptr<DecodeVariant> variant;
};

// Every way that this build and this machine have. If OpenCV is there, the baseline (FFCV's way) is
// first.
std::vector<NamedVariant> DecodeVariants();

// Our decoder of JPEGs, or of packed images (a picture without a packed form as a JPEG), up to each
// of its stages in order: the cost of a stage is the time it adds.
std::vector<NamedVariant> DecodeStages(bool packed);

// The region computed by definition in double precision: the whole frame by libjpeg's accurate
// transform and fancy upsampling, then the region's filter over its bounds, not rounded.
// Interleaved RGB.
std::vector<double> ReferencePixels(const DecodeItem& item);

// Decibels against a reference of the same length; 99 if nothing differs.
double PeakSignalToNoise(const std::vector<double>& reference,
                         const std::vector<std::uint8_t>& pixels);

struct DecodeFigures {
  std::string name, description;
  std::vector<double> milliseconds;  // a picture, by round
  double decibels = 0;               // 0: not measured
};

// Every k-th JPEG of the dataset, up to `count`, each with the region that the transform draws for
// it (and a flip for half of them). Reads them, so that they are in memory. With `both_forms`: also
// packed images, as the JPEGs they were made from, and each JPEG packed as well. Throws
// cli::UsageError if the transform leaves a border, Error(kUnsupported) if there is no JPEG.
std::vector<DecodeItem> ChooseDecodeItems(const Dataset& dataset, Pipeline transform,
                                          std::uint64_t count, std::uint64_t seed,
                                          bool both_forms = false);

// Runs all ways in turn, on this thread; a first round is not counted. Throws Interrupted.
std::vector<DecodeFigures> MeasureDecoding(std::vector<NamedVariant>& variants,
                                           const std::vector<DecodeItem>& items,
                                           std::uint64_t rounds, const std::stop_token& stop);

// The milliseconds a picture that each stage (DecodeStages()) adds to the stage before it: medians
// over rounds.
std::vector<double> AddedByStage(const std::vector<DecodeFigures>& stages);

// How much of memory's bandwidth decoding packed images takes, if the images are in memory and not
// in a cache; compared with a plain copy, on one thread and on several (bandwidth.cpp).

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
// left out; Error(kUnsupported) if that leaves none. Throws Interrupted.
BandwidthFigures MeasureBandwidth(const std::vector<DecodeItem>& items,
                                  const BandwidthOptions& options, const std::stop_token& stop);

// The share of a plain copy's rate that packed images take.
double ShareOfCopy(const BandwidthFigures& figures, const BandwidthPoint& point);
// How many threads, each as fast as the one measured alone, would use up the rate that the copy
// reached on the most threads.
double ThreadsToLimit(const BandwidthFigures& figures);

// A table of the points, a note, and the member "bandwidth".
void ReportBandwidth(const BandwidthFigures& figures, PartResult& part);

}  // namespace sluice::bench
