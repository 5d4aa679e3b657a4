// Decodes the part of a baseline JPEG that a region needs, into planes.
//
// Starts at the restart marker before the region's first row. Where restart markers allow it,
// decodes no more of a row than needed (scan_decoder.h). Transforms only the MCUs that the region
// touches, and at a reduced size if the output is that much smaller.
#pragma once

#include <vector>

#include "format/pixels/baseline/mcu_window.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/planar.h"

namespace sluice::baseline {

// Keeps tables and planes from picture to picture; one thread at a time.
class Decoder {
 public:
  explicit Decoder(const kernels::Kernels& set) : scan_(set) {}

  // Decodes the planes that the region needs. The picture's header must say width x height. False
  // if libjpeg must decode the file instead, because of its kind or because its coded data is
  // broken.
  bool Decode(Bytes file, std::uint32_t width, std::uint32_t height, const Region& region,
              const DecodePolicy& policy = {});

  const ColumnPlane* planes() const noexcept { return planes_; }
  std::uint32_t components() const noexcept { return scan_.header().components; }

 private:
  void LayOut(const McuWindow& window, kernels::SegmentJob& job);

  ScanDecoder scan_;
  std::vector<std::uint8_t> samples_[3];
  ColumnPlane planes_[3];
};

}  // namespace sluice::baseline
