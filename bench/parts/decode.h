// `sluice-bench decode`: JPEG payloads with a region each, and the ways of decoding them
// (decode_ways.cpp). Other commands use its choice of pictures, reference pixels and decoding
// stages.
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

}  // namespace sluice::bench
