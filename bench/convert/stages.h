// Where the time of a conversion goes, image by image.
#pragma once

#include <cstdint>
#include <stop_token>

#include <sluice/convert.h>

namespace sluice::bench {

// CPU milliseconds an image takes on one thread.
struct ConvertStages {
  std::uint64_t images = 0;  // that were looked at
  double read = 0;
  double decode = 0;  // and resize: a JPEG's planes are resized as they are decoded
  double encode = 0;  // of what the options have encoded
};

// Of up to `most` images of the source, spread evenly over it. Those that cannot be converted are
// passed over. Kept coefficients are counted as encoding.
ConvertStages MeasureStages(const ConvertSource& source, const ConvertOptions& options,
                            std::uint64_t most, const std::stop_token& stop);

}  // namespace sluice::bench
