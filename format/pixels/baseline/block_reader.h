// Reads a baseline JPEG's coefficients as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "format/pixels/baseline/mcu_row.h"
#include "format/pixels/baseline/scan_decoder.h"

namespace sluice::baseline {

// Keeps its memory from file to file, except the largest; one thread at a time.
class BlockReader {
 public:
  explicit BlockReader(const kernels::Kernels& set) : scan_(set) {}

  // False if libjpeg must read the file instead, because of its kind. The bytes must outlive the
  // reading.
  bool Begin(Bytes file);
  const Header& header() const noexcept { return scan_.header(); }

  // Each of these once after Begin(). False if the coded data is broken, or not followed by the
  // file's end.

  // The blocks that hold pixels, to each component's places. `natural`: in that order instead of
  // zigzag order.
  bool Read(const kernels::BlockPlaces* places, bool natural);
  // Calls `use` with each row of MCUs (mcu_row.h), whole, from the top, until it returns false,
  // which is returned.
  bool ReadRows(const std::function<bool(const std::int16_t*)>& use);

 private:
  ScanDecoder scan_;
  std::vector<std::int16_t> rows_;
};

}  // namespace sluice::baseline
