// Decodes the part of a baseline JPEG that a region needs, into planes.
//
// Starts at the restart marker before the region's first row. Where restart markers allow it,
// decodes no more of a row than needed, and three segments at once (strands.h); a whole picture
// without them is decoded from three places at once (split_segment.h). Transforms only the MCUs
// that the region touches, and at a reduced size if the output is that much smaller.
#pragma once

#include <vector>

#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/mcu_window.h"
#include "format/pixels/baseline/own_tables.h"
#include "format/pixels/baseline/split_segment.h"
#include "format/pixels/baseline/strands.h"
#include "format/pixels/kernels/kernels.h"
#include "format/pixels/planar.h"

namespace sluice::baseline {

// Keeps tables and planes from picture to picture; one thread at a time.
class Decoder {
 public:
  explicit Decoder(const kernels::Kernels& set) : set_(set) {}

  // Decodes the planes that the region needs. The picture's header must say width x height. False
  // if libjpeg must decode the file instead, because of its kind or because its coded data is
  // broken.
  bool Decode(Bytes file, std::uint32_t width, std::uint32_t height, const Region& region,
              const DecodePolicy& policy = {});

  const ColumnPlane* planes() const noexcept { return planes_; }
  std::uint32_t components() const noexcept { return header_.components; }

 private:
  struct CachedTable {
    HuffmanSpec spec;
    HuffmanTable table;
    bool valid = false;                      // its codes are there
    bool look_ups = false, skips = false;    // these are as well
    std::size_t standard = kStandardTables;  // StandardNumber()
  };

  bool FindTables();
  void FindLookUps(bool skips);
  void LayOut(const McuWindow& window, kernels::SegmentJob& job);
  bool FindStrandTables(bool whole, std::uint64_t segments, StrandTables* tables);
  bool ReadSegment(const WantedSegment& segment, Segments& segments, kernels::SegmentJob& job);
  bool DecodeSegments(bool all, kernels::SegmentJob& job);

  const kernels::Kernels& set_;
  Header header_;
  std::vector<CachedTable> tables_ = std::vector<CachedTable>(8);  // [class * 4 + number]
  std::vector<std::uint8_t> segment_;
  OwnTables own_tables_;
  Strands strands_;
  SplitSegment split_segment_;
  std::vector<std::uint8_t> samples_[3];
  ColumnPlane planes_[3];
};

}  // namespace sluice::baseline
