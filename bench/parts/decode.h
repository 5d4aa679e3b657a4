// `sluice-bench decode`: JPEG payloads with a region each, the ways of decoding them
// (decode_ways.cpp), and the share of memory's bandwidth that decoding takes (bandwidth.cpp). Other
// commands use its choice of pictures, reference pixels and decoding stages.
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

// One picture to decode into RGB of the region's target size, as a JPEG and packed. `payload` and
// `packed` point into the sample or, for the form that the sample does not have, into `other_form`.
struct DecodeItem {
  std::optional<Sample> sample;  // keeps the block, if the dataset is at a URL
  ImagePayload payload;          // a JPEG
  ImagePayload packed;           // equals `payload` if the JPEG has no packed form
  bool stored_packed = false;    // whether the dataset holds the packed form
  Region region;
  std::vector<std::byte> other_form;
};

// A way of decoding. Keeps its memory from picture to picture, as a worker thread does.
class DecodeVariant {
 public:
  virtual ~DecodeVariant() = default;
  // Writes interleaved RGB to `rgb`. Throws Error if the picture cannot be decoded.
  virtual void Decode(const DecodeItem& item, std::uint8_t* rgb) = 0;
};

struct NamedVariant {
  std::string name;
  std::string description;
  std::unique_ptr<DecodeVariant> variant;
};

// Every way of decoding that this build and this machine support. With OpenCV, FFCV's way is first,
// as the baseline.
std::vector<NamedVariant> DecodeVariants();

// Our decoder of JPEGs or of packed images, up to each of its stages in order. The cost of a stage
// is the time that it adds. (A picture without a packed form is decoded as a JPEG.)
std::vector<NamedVariant> DecodeStages(bool packed);

// The region computed by definition in double precision: the whole frame by libjpeg's accurate
// transform and fancy upsampling, then the region's filter over its bounds, not rounded.
// Interleaved RGB.
std::vector<double> ReferencePixels(const DecodeItem& item);

// The PSNR of `pixels` in decibels, against a reference of the same length; 99 if nothing differs.
double PeakSignalToNoise(const std::vector<double>& reference,
                         const std::vector<std::uint8_t>& pixels);

struct DecodeFigures {
  std::string name, description;
  std::vector<double> milliseconds;  // per picture; one value for each round
  double decibels = 0;               // PSNR; 0: not measured
};

// Chooses every k-th JPEG of the dataset, up to `count`, each with the region that the transform
// draws for it (and a flip for half of them). Reads them, so that they are in memory. With
// `both_forms`, also chooses packed images, as the JPEGs that they were made from, and packs each
// JPEG. Throws cli::UsageError if the transform leaves a border or does more than crop, resize and
// flip left to right; Error(kUnsupported) if there is no JPEG.
std::vector<DecodeItem> ChooseDecodeItems(const Dataset& dataset, Pipeline transform,
                                          std::uint64_t count, std::uint64_t seed,
                                          bool both_forms = false);

// Runs all ways in turn, on this thread; a first round is not counted. Throws Interrupted.
std::vector<DecodeFigures> MeasureDecoding(std::vector<NamedVariant>& variants,
                                           const std::vector<DecodeItem>& items,
                                           std::uint64_t rounds, const std::stop_token& stop);

// The milliseconds per picture that each stage of DecodeStages() adds to the stage before it:
// medians over rounds.
std::vector<double> AddedByStage(const std::vector<DecodeFigures>& stages);

// How much of memory's bandwidth decoding packed images takes, if the images are in memory and not
// in a cache; compared with a plain copy, on one thread and on several (bandwidth.cpp).

// One value for each round. Bytes per second count bytes read and bytes written, by all threads.
struct BandwidthPoint {
  unsigned threads = 1;
  std::vector<double> copy;           // of memory: bytes a second
  std::vector<double> images;         // packed images decoded per second, from memory
  std::vector<double> cached_images;  // the same from a cache
};

struct BandwidthFigures {
  std::uint64_t arena_bytes = 0;       // size of the memory that the packed images are spread over
  double read_bytes_per_image = 0;     // of the payload: the rows that the region touches
  double written_bytes_per_image = 0;  // pixels
  std::vector<BandwidthPoint> points;

  double BytesPerImage() const noexcept { return read_bytes_per_image + written_bytes_per_image; }
};

struct BandwidthOptions {
  unsigned threads = 1;
  std::uint64_t rounds = 7;
  std::uint64_t arena_bytes = 0;  // 0: four times the last-level cache, 256 MiB to 1 GiB
  std::uint64_t copy_bytes = std::uint64_t{256} << 20;  // copied by each thread in a round
  std::uint64_t images = 1000;                          // decoded by each thread in a round
};

// Measures one thread and `threads`, in turn, round after round. Pictures without a packed form are
// left out; Error(kUnsupported) if that leaves none. Throws Interrupted.
BandwidthFigures MeasureBandwidth(const std::vector<DecodeItem>& items,
                                  const BandwidthOptions& options, const std::stop_token& stop);

// The rate of memory traffic of packed decoding, as a share of a plain copy's.
double ShareOfCopy(const BandwidthFigures& figures, const BandwidthPoint& point);
// How many threads, each as fast as a single thread alone, would use up the rate that plain copies
// reached on the most threads.
double ThreadsToLimit(const BandwidthFigures& figures);

// Adds a table of the points, a note, and the member "bandwidth" to the result.
void ReportBandwidth(const BandwidthFigures& figures, PartResult& part);

}  // namespace sluice::bench
