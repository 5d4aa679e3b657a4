// Decodes a baseline JPEG's scan into what a job asks for, the fastest way: segments between
// restart markers three at once (strands.h), a whole picture without them from three places at once
// (split_segment.h), and one after another where that does not pay: short segments, and parts of
// pictures with Huffman tables of their own.
#pragma once

#include <vector>

#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/own_tables.h"
#include "format/pixels/baseline/split_segment.h"
#include "format/pixels/baseline/strands.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

// Keeps tables and its memory, except the largest, from picture to picture; one thread at a time.
class ScanDecoder {
 public:
  explicit ScanDecoder(const kernels::Kernels& set) : set_(set) {}

  // False if libjpeg must decode the file instead, because of its kind.
  bool Begin(Bytes file);
  const Header& header() const noexcept { return header_; }

  // What the header says of a job: its MCUs' layout, its components' tables and steps, and all MCUs
  // as its window.
  void Describe(kernels::SegmentJob& job) const;

  // Decodes what the job's window needs, or with `all` every segment. False if the coded data is
  // broken; what the job writes to is of no use then.
  bool Decode(bool all, kernels::SegmentJob& job);

  // Of a scan that was decoded whole: whether nothing but an end-of-image marker follows it.
  bool EndsFile() const noexcept { return segments_.AtFileEnd(); }

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
  bool FindStrandTables(bool whole, std::uint64_t segments, StrandTables* tables);
  bool DecodeSegments(bool all, kernels::SegmentJob& job);
  bool ReadSegment(const WantedSegment& segment, kernels::SegmentJob& job);

  const kernels::Kernels& set_;
  Header header_;
  std::vector<CachedTable> tables_ = std::vector<CachedTable>(8);  // [class * 4 + number]
  Segments segments_;
  std::vector<std::uint8_t> segment_;
  OwnTables own_tables_;
  Strands strands_;
  SplitSegment split_segment_;
};

}  // namespace sluice::baseline
