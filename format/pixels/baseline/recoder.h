// Makes the coefficients of a JPEG from those of another JPEG of the same picture. A component that
// keeps its size never becomes samples: each coefficient is the nearest that the new steps allow.
// Chroma that is halved becomes the means of 2x2 samples and is transformed again. The means are
// clamped to the range of samples. At the picture's edge, where some of the four samples are
// missing, the samples are clamped before the mean is taken.
#pragma once

#include <vector>

#include "format/pixels/baseline/scan_decoder.h"

namespace sluice::baseline {

// Keeps its memory from picture to picture, except after a very large one; one thread at a time.
class Recoder {
 public:
  explicit Recoder(const kernels::Kernels& set) : set_(set), scan_(set) {}

  // Whether the file may become one like `target`, for which DeriveSizes() was called. False if the
  // baseline decoder cannot read the file, if the file is not of the target's size and components,
  // or if a component would have to be enlarged or halved in one direction alone. File and target
  // must outlive the recoding.
  bool Begin(Bytes file, const Header& target);

  // Call it once after Begin(). Fills every block of the target that holds pixels; all coefficients
  // have baseline codes. `places`: where each component's blocks go. `natural`: whether a block's
  // coefficients are in natural order instead of zigzag order.
  //
  // False if the file is broken, or if the new steps lead to coefficients that baseline has no
  // codes for; the blocks are then of no use.
  bool Recode(const kernels::BlockPlaces* places, bool natural);

 private:
  void MakePlane(std::uint32_t c);
  void TransformHalved(std::uint32_t c, const kernels::BlockPlaces& places, bool natural);

  const kernels::Kernels& set_;
  ScanDecoder scan_;
  const Header* target_ = nullptr;
  kernels::SegmentJob job_;
  kernels::Recoding recoding_;
  kernels::NewSteps steps_[3];
  std::vector<std::uint8_t> samples_[3];  // of halved components
};

}  // namespace sluice::baseline
