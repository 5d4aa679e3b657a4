// What `sluice-bench decode` decodes: JPEG payloads and the region of each, and the ways of doing
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sluice/dataset.h>

#include "format/pixels/decode.h"

namespace sluice::bench {

// One picture to be decoded into target_width x target_height RGB, as a JPEG and packed. `payload`
// and `packed` point into the dataset, or into `other_form`, which it was made into.
struct DecodeItem {
  ImagePayload payload;        // a JPEG
  ImagePayload packed;         // the JPEG, where that has no packed form
  bool stored_packed = false;  // `packed` is what the dataset holds
  Region region;
  std::vector<std::byte> other_form;
};

// A way of decoding. Keeps its memory from picture to picture, as a worker thread would.
class DecodeVariant {
 public:
  virtual ~DecodeVariant() = default;
  // Fills `rgb`, interleaved. Throws Error where the picture cannot be decoded.
  virtual void Decode(const DecodeItem& item, std::uint8_t* rgb) = 0;
};

struct NamedVariant {
  std::string name;
  std::string description;
  std::unique_ptr<DecodeVariant> variant;
};

// Every way this build and this machine have, the baseline (what FFCV does) first where OpenCV is
// there.
std::vector<NamedVariant> DecodeVariants();

// Our decoder of JPEGs, or of packed images (a picture that has no packed form as a JPEG), as far
// as each of its stages, in their order: a stage's cost is what it adds.
std::vector<NamedVariant> DecodeStages(bool packed);

// The region by the book, in double precision: the whole frame by libjpeg's accurate transform and
// fancy upsampling, then the region's filter over its bounds, not rounded. Interleaved RGB.
std::vector<double> ReferencePixels(const DecodeItem& item);

// Decibels against a reference of the same length; 99 where nothing differs.
double PeakSignalToNoise(const std::vector<double>& reference,
                         const std::vector<std::uint8_t>& pixels);

}  // namespace sluice::bench
