#include "format/pixels/baseline/block_reader.h"

#include "format/pixels/kept_memory.h"

namespace sluice::baseline {

bool BlockReader::Begin(Bytes file) {
  return scan_.Begin(file);
}

bool BlockReader::Read(const kernels::BlockPlaces* places, bool natural) {
  kernels::Recoding recoding;
  recoding.natural = natural;
  kernels::SegmentJob job;
  scan_.Describe(job);
  job.recoding = &recoding;
  for (std::uint32_t c = 0; c < job.components; ++c)
    recoding.component[c].to = places[c];
  return scan_.Decode(true, job) && scan_.EndsFile();
}

bool BlockReader::ReadRows(const std::function<bool(const std::int16_t*)>& use) {
  const McuRow row(header());
  MakeRoom(row.values() * header().mcus_down, rows_);
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < header().components; ++c)
    places[c] = row.InRows(c, rows_.data());
  bool goes_on = Read(places, false);
  std::int16_t* blocks = rows_.data();
  for (std::uint32_t y = 0; goes_on && y < header().mcus_down; ++y, blocks += row.values()) {
    row.FillEdges(y, blocks);
    goes_on = use(blocks);
  }
  FreeLarge(rows_);
  return goes_on;
}

}  // namespace sluice::baseline
