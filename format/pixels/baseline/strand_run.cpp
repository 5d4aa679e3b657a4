#include "format/pixels/baseline/strand_run.h"

#include <algorithm>

namespace sluice::baseline {

using kernels::BlockRun;
using kernels::SegmentJob;
using kernels::Strand;

// Strand::bits says by its lowest one how many bits behind `in` are consumed.
void StartAt(std::uint64_t position, const std::uint8_t* bytes, std::size_t size,
             Strand& strand) noexcept {
  strand.bits = std::uint64_t{1} << position % 8;
  strand.in = bytes + position / 8;
  strand.limit = bytes + size;
}

std::uint64_t PositionOf(const Strand& strand, const std::uint8_t* bytes) noexcept {
  return static_cast<std::uint64_t>(strand.in - bytes) * 8 +
         static_cast<std::uint64_t>(__builtin_ctzll(strand.bits));
}

bool IsRunning(const Strand& strand) noexcept {
  return strand.out < strand.end && strand.in <= strand.limit;
}

BlockRun RunFrom(const SegmentJob& job, std::uint32_t mcu, std::uint32_t end) noexcept {
  const std::uint32_t x = mcu % job.mcus_across;
  const std::uint32_t y = mcu / job.mcus_across;
  BlockRun run;
  run.first_mcu = mcu;
  run.wanted = y >= job.top && y < job.bottom && x >= job.left && x < job.right;
  std::uint32_t until = job.mcus_across;
  if (run.wanted) {
    until = job.right;
  } else if (y >= job.top && y < job.bottom && x < job.left) {
    until = job.left;
  }
  run.mcus = std::min({until - x, end - mcu, kRunMcus});
  return run;
}

void RunTables::Make(const SegmentJob& job, const StrandTables* tables, bool wanted) {
  const StrandTable** to = table_;
  mcu_blocks_ = 0;
  unseen_ = 64 - tables[0].bits;
  for (std::uint32_t c = 0; c < job.components; ++c)
    mcu_blocks_ += job.component[c].across * job.component[c].down;
  for (std::uint32_t m = 0; m < kRunMcus; ++m) {
    for (std::uint32_t c = 0; c < job.components; ++c) {
      const kernels::ComponentJob& component = job.component[c];
      const bool mean_alone = component.size_log2 == 0;
      const BlockTables& of = wanted && !mean_alone ? *tables[c].wanted : *tables[c].skipped;
      for (std::uint32_t b = 0; b < component.across * component.down; ++b) {
        for (const StrandTable& table : of.of)
          *to++ = &table;
      }
    }
  }
  *to = &StrandHalt();
  end_ = to;
}

void RunTables::StartRun(std::uint32_t mcus, std::int16_t* blocks, Strand& strand) const noexcept {
  const std::size_t count = std::size_t{mcus} * mcu_blocks_;
  strand.next = end_ - count * kBlockTables;
  strand.out = blocks;
  strand.unseen = unseen_;
  strand.end = blocks + count * (kBlockBytes / sizeof(std::int16_t));
}

}  // namespace sluice::baseline
