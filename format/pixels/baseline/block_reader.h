// Reads a baseline JPEG's coefficients, a row of MCUs at a time (mcu_row.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/mcu_row.h"
#include "format/pixels/baseline/segments.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

// Keeps its memory from file to file; one thread at a time.
class BlockReader {
 public:
  explicit BlockReader(const kernels::Kernels& set) : set_(set) {}

  // False if libjpeg must read the file instead, because of its kind. The bytes must outlive the
  // reading. With `natural`, blocks come in natural order instead of zigzag order.
  bool Begin(Bytes file, bool natural = false);
  const Header& header() const noexcept { return header_; }

  // The next row of the header's mcus_down; null if the coded data is broken, or if its last row is
  // not followed by the file's end. The blocks may be changed; they are valid until the next call.
  std::int16_t* NextRow();

 private:
  bool FindTables();
  bool BeginSegment();
  bool EndsSegment() const noexcept;
  bool ReadMcus(std::int16_t* blocks, std::uint32_t mcus);

  const kernels::Kernels& set_;
  Header header_;
  HuffmanSpec specs_[2][4];  // of tables_
  bool built_[2][4] = {};
  std::vector<HuffmanTable> tables_ = std::vector<HuffmanTable>(8);  // [class * 4 + number]
  std::optional<Segments> segments_;
  std::vector<std::uint8_t> segment_;
  kernels::SegmentJob segment_job_;
  kernels::ReadJob job_;
  bool natural_ = false;
  std::uint32_t interval_ = 0;    // MCUs of a segment
  std::uint32_t in_segment_ = 0;  // MCUs read of this one
  std::uint32_t row_ = 0, number_ = 0;
  std::vector<std::int16_t> blocks_;
};

}  // namespace sluice::baseline
