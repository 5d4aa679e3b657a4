// Writes a baseline JPEG with the standard's Huffman tables from rows of MCUs (mcu_row.h): the
// bytes that libjpeg-turbo makes of the same coefficients.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/mcu_row.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

class FileWriter {
 public:
  // `header` is laid out; it has the component ids, steps and restart interval to write.
  FileWriter(const kernels::Kernels& set, const Header& header);

  // The next row of MCUs. Its coefficients must be ones that baseline has codes for: DC from -1024
  // to 1023, others from -1023 to 1023.
  void Add(const std::int16_t* blocks);
  // The file, once all rows are there.
  std::vector<std::byte> Finish();

 private:
  void EndSegment();
  void TakeBytes();

  const kernels::Kernels& set_;
  const McuRow row_;
  const std::uint32_t mcus_across_, restart_interval_;
  kernels::CodeJob job_;
  std::vector<std::uint8_t> coded_;  // without stuffing
  std::uint32_t in_segment_ = 0;     // MCUs since the last marker
  std::uint32_t markers_ = 0;
  std::vector<std::byte> file_;
};

// The file of a picture from all its rows of MCUs, one behind another: the blocks that hold pixels,
// to which the others are added.
std::vector<std::byte> WriteFile(const kernels::Kernels& set, const Header& header,
                                 std::int16_t* rows);

}  // namespace sluice::baseline
