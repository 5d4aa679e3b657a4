#include "format/pixels/baseline/block_reader.h"

namespace sluice::baseline {

bool BlockReader::Begin(Bytes file, bool natural) {
  constexpr std::size_t kMostKept = std::size_t{1} << 25;
  if (blocks_.size() > kMostKept) blocks_ = {};
  natural_ = natural;
  row_ = 0;
  return scan_.Begin(file);
}

bool BlockReader::ReadAll() {
  const Header& header = scan_.header();
  const McuRow row(header);
  const std::size_t values = row.values() * header.mcus_down;
  if (blocks_.size() < values) blocks_.resize(values);
  kernels::Recoding recoding;
  recoding.natural = natural_;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    kernels::BlockPlaces& to = recoding.component[c].to;
    to.first = blocks_.data() + row.PlaceOf(c, 0, 0);
    to.across = header.mcus_across * component.h;
    to.down = header.mcus_down * component.v;
    to.h_log2 = component.h - 1U;  // 1 or 2
    to.v_log2 = component.v - 1U;
    to.mcu = row.mcu_values();
    to.row = row.values();
  }
  kernels::SegmentJob job;
  scan_.Describe(job);
  job.right = header.mcus_across;
  job.bottom = header.mcus_down;
  job.recoding = &recoding;
  return scan_.Decode(true, job) && scan_.EndsFile();
}

std::int16_t* BlockReader::NextRow() {
  if (row_ == 0 && !ReadAll()) return nullptr;
  return blocks_.data() + row_++ * McuRow(scan_.header()).values();
}

}  // namespace sluice::baseline
