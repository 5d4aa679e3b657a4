// Where the time of a conversion goes, image by image.
#pragma once

#include <cstdint>
#include <stop_token>

#include <sluice/convert.h>

namespace sluice::bench {

// CPU milliseconds an image takes on one thread.
struct ConvertStages {
  std::uint64_t images = 0;  // images measured
  double read = 0;
  double decode = 0;  // with resizing: a JPEG's planes are resized while they are decoded
  double encode = 0;  // for options that encode
};

// Measures up to `most` images, spread evenly over the source. Images that cannot be converted are
// passed over. Keeping coefficients counts as encoding.
ConvertStages MeasureStages(const ConvertSource& source, const ConvertOptions& options,
                            std::uint64_t most, const std::stop_token& stop);

}  // namespace sluice::bench
