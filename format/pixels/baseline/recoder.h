// Makes the coefficients of a JPEG from those of another one of the same picture. A component that
// keeps its size never becomes samples: each coefficient is the nearest that the new steps allow.
// Chroma that is halved becomes the means of 2x2 samples and is transformed again.
#pragma once

#include <vector>

#include "format/pixels/baseline/scan_decoder.h"

namespace sluice::baseline {

// Keeps its memory from picture to picture; one thread at a time.
class Recoder {
 public:
  explicit Recoder(const kernels::Kernels& set) : set_(set), scan_(set) {}

  // Fills every block of `target`, whose sizes are derived, that holds pixels. `places`: where each
  // component's blocks go; `natural`: their order. They are ones that baseline has codes for.
  //
  // False, with the blocks of no use, if that cannot be done: the file must be decoded otherwise
  // because of its kind or because it is broken, it is not of the target's size and components, or
  // a component would have to be enlarged or halved in one direction alone.
  bool Recode(Bytes file, const Header& target, const kernels::BlockPlaces* places, bool natural);

 private:
  bool Plan(const Header& target);
  void MakePlane(std::uint32_t c);
  void TransformHalved(const Header& target, std::uint32_t c, const kernels::BlockPlaces& places,
                       bool natural);

  const kernels::Kernels& set_;
  ScanDecoder scan_;
  kernels::SegmentJob job_;
  kernels::Recoding recoding_;
  kernels::NewSteps steps_[3];
  std::vector<std::uint8_t> samples_[3];  // of halved components
};

}  // namespace sluice::baseline
