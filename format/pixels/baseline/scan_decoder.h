// Reads a baseline JPEG. ScanDecoder decodes the scan to what a job asks for. Decoder makes planes
// of the part that a region needs; BlockReader gives the coefficients as they are.
//
// ScanDecoder takes the fastest way. It decodes three segments between restart markers at once, or
// a whole picture without restart markers from three places at once (strands.h tells how). Where
// that does not pay, it decodes one segment after another: in short scans, and in parts of pictures
// with Huffman tables of their own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "format/pixels/baseline/encoder.h"
#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/baseline/strands.h"
#include "format/pixels/kernels/kernels.h"
#include "format/pixels/planar.h"

namespace sluice::baseline {

// The part of a component that a region needs, and at which size.
struct ComponentWindow {
  ComponentAxis x, y;                   // in the component's samples, after the reduction
  std::uint32_t size_log2 = 3;          // a block becomes 8, 4, 2 or 1 samples square
  std::uint32_t left = 0, top = 0;      // the window's corner, in samples
  std::uint32_t width = 0, height = 0;  // the window's size, in samples
};

// The MCUs of a baseline JPEG that a region needs.
struct McuWindow {
  std::uint32_t left = 0, top = 0, right = 0, bottom = 0;  // in MCUs
  ComponentWindow component[3];

  McuWindow(const Header& header, const Region& region, const DecodePolicy& policy) noexcept;
};

// Keeps tables and its memory, except the largest, from picture to picture; one thread at a time.
class ScanDecoder {
 public:
  explicit ScanDecoder(const kernels::Kernels& set) : set_(set) {}

  // False if libjpeg must decode the file instead, because of its kind.
  bool Begin(Bytes file);
  const Header& header() const noexcept { return header_; }

  // Fills in a job from the header: its MCUs' layout, its components' tables and steps, and all
  // MCUs as its window.
  void Describe(kernels::SegmentJob& job) const;

  // Decodes what the job's window needs, or with `all` every segment. False if the coded data is
  // broken; what the job writes to is of no use then.
  bool Decode(bool all, kernels::SegmentJob& job);

  // Decodes what several windows of the picture need, each to the planes of its own job, and reads
  // the MCUs that windows share only once. `job`: covers all windows; its planes are not used. Each
  // window gets what Decode() would give it. False if the coded data is broken, lacks restart
  // markers, or has unusual Huffman tables; then decode each window by itself.
  bool DecodeViews(std::span<const kernels::SegmentJob> views, kernels::SegmentJob& job);

  // After a scan was decoded whole: whether nothing but an end-of-image marker follows it.
  bool EndsFile() const noexcept { return segments_.AtFileEnd(); }

 private:
  struct CachedTable {
    HuffmanSpec spec;
    HuffmanTable table;
    bool valid = false;                      // whether its codes are made
    bool look_ups = false, skips = false;    // whether its look-ups, and its skips, are made
    std::size_t standard = kStandardTables;  // StandardNumber()
  };

  bool FindTables();
  void FindLookUps(bool skips);
  bool FindStrandTables(bool whole, StrandTables* tables);
  bool DecodeSegments(bool all, kernels::SegmentJob& job);
  bool ReadSegment(const WantedSegment& segment, kernels::SegmentJob& job);

  const kernels::Kernels& set_;
  Header header_;
  std::vector<CachedTable> tables_ = std::vector<CachedTable>(8);  // [class * 4 + number]
  Segments segments_;
  std::vector<std::uint8_t> segment_;  // the bytes of one segment, as Segments::Read() gives them
  OwnTables own_tables_;
  Strands strands_;
  SplitSegment split_segment_;
};

// Reads a baseline JPEG's coefficients as they are.
//
// Keeps its memory from file to file, except the largest; one thread at a time.
class BlockReader {
 public:
  explicit BlockReader(const kernels::Kernels& set) : scan_(set) {}

  // False if libjpeg must read the file instead, because of its kind. The bytes must outlive the
  // reading.
  bool Begin(Bytes file);
  const Header& header() const noexcept { return scan_.header(); }

  // Call one of these once after Begin(). False if the coded data is broken, or not followed by the
  // file's end.

  // Reads the blocks that hold pixels to each component's places. `natural`: in that order instead
  // of zigzag order.
  bool Read(const kernels::BlockPlaces* places, bool natural);
  // Calls `use` with each whole line of MCUs (McuLine), from the top. If `use` returns false, stops
  // and returns false.
  bool ReadLines(const std::function<bool(const std::int16_t*)>& use);

 private:
  ScanDecoder scan_;
  std::vector<std::int16_t> lines_;
};

// Decodes the part of a baseline JPEG that a region needs, into planes.
//
// Starts at the restart marker before the region's first line. Where restart markers allow it,
// decodes no more of a line than needed. Transforms only the MCUs that the region touches, and at a
// reduced size if the output is that much smaller.
//
// Keeps tables and planes from picture to picture; one thread at a time.
class Decoder {
 public:
  explicit Decoder(const kernels::Kernels& set) : scan_(set) {}

  // Decodes the planes that the region needs. The picture's header must say width x height. False
  // if libjpeg must decode the file instead, because of its kind or because its coded data is
  // broken.
  bool Decode(Bytes file, std::uint32_t width, std::uint32_t height, const Region& region,
              const DecodePolicy& policy = {});

  // Decodes the planes that each region needs, as Decode() would, but reads what they share once.
  // Returns how many of the regions, from the first on, have view_planes(): 0 if each must be
  // decoded alone, and fewer than all if the planes of the others would take more memory than
  // PayloadDecoder::kViewBytes. Decode() leaves these planes as they are.
  std::size_t DecodeViews(Bytes file, std::uint32_t width, std::uint32_t height,
                          std::span<const Region> regions);

  const ColumnPlane* planes() const noexcept { return alone_.planes[0].data(); }
  const ColumnPlane* view_planes(std::size_t view) const noexcept {
    return views_.planes[view].data();
  }
  // Of the file decoded last.
  std::uint32_t components() const noexcept { return scan_.header().components; }

 private:
  struct Views {
    std::vector<std::array<ColumnPlane, 3>> planes;  // by view
    std::vector<std::uint8_t> samples;               // of all planes
  };
  // Makes a job for each window, and the planes that it fills.
  void LayOut(std::span<const McuWindow> windows, Views& views);

  ScanDecoder scan_;
  Views alone_, views_;  // of Decode(), and of DecodeViews()
  std::vector<McuWindow> windows_;
  std::vector<kernels::SegmentJob> jobs_;
};

}  // namespace sluice::baseline
