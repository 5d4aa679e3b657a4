// Reads a baseline JPEG's coefficients, by rows of MCUs (mcu_row.h).
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/baseline/mcu_row.h"
#include "format/pixels/baseline/scan_decoder.h"

namespace sluice::baseline {

// Keeps its memory from file to file, except the largest; one thread at a time.
class BlockReader {
 public:
  explicit BlockReader(const kernels::Kernels& set) : scan_(set) {}

  // False if libjpeg must read the file instead, because of its kind. The bytes must outlive the
  // reading. With `natural`, blocks come in natural order instead of zigzag order.
  bool Begin(Bytes file, bool natural = false);
  const Header& header() const noexcept { return scan_.header(); }

  // The next row of the header's mcus_down; null if the coded data is broken, or if it is not
  // followed by the file's end. The blocks may be changed; they are valid until the next Begin().
  std::int16_t* NextRow();

 private:
  bool ReadAll();

  ScanDecoder scan_;
  bool natural_ = false;
  std::uint32_t row_ = 0;
  std::vector<std::int16_t> blocks_;
};

}  // namespace sluice::baseline
