// Decodes the part of a packed image that a region needs, into planes. For each component on its
// own, it decodes only the lines and columns of blocks that the region touches, at a reduced size
// if the output is that much smaller. The planes equal those that the JPEG decoder makes of the
// file the image was packed from.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/kernels/kernels.h"
#include "format/pixels/packed/layout.h"
#include "format/pixels/planar.h"

namespace sluice::packed {

// The part of one component that a region needs: which blocks, and at which size.
struct BlockWindow {
  ComponentAxis x, y;           // in the component's samples, after the reduction
  std::uint32_t size_log2 = 3;  // a block becomes 8, 4, 2 or 1 samples square
  std::uint32_t left = 0, top = 0, right = 0, bottom = 0;  // blocks
};

BlockWindow WindowOf(const Header& header, std::uint32_t component, const Region& region,
                     const DecodePolicy& policy) noexcept;

// Keeps its memory from picture to picture; one thread at a time.
class Decoder {
 public:
  explicit Decoder(const kernels::Kernels& set) : set_(set) {}

  // Decodes the planes that `region` needs for `channels` (1: only the first plane). The picture
  // must be width x height, with that many channels. Returns null, or what is wrong.
  Defect Decode(const ImagePayload& payload, std::uint32_t channels, const Region& region,
                const DecodePolicy& policy = {});

  const ColumnPlane* planes() const noexcept { return planes_; }
  std::uint32_t components() const noexcept { return header_.components; }

 private:
  Defect DecodeComponent(Bytes payload, std::uint32_t c, const Region& region,
                         const DecodePolicy& policy);

  const kernels::Kernels& set_;
  Header header_;
  // Room for kernels::PackedLineJob.
  std::vector<std::uint64_t> masks_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint8_t> values_;
  std::vector<std::uint8_t> samples_[3];  // of planes_
  ColumnPlane planes_[3];
};

}  // namespace sluice::packed
