// The work of `sluice-bench decode`: JPEG payloads with a region each, and the ways of decoding
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/dataset.h>

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

}  // namespace sluice::bench
