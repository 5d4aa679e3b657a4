// Runs of MCUs, which strands decode one after another.
#pragma once

#include <cstdint>

#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

// The most MCUs of a run: few, so that their coefficients stay in the first cache.
inline constexpr std::uint32_t kRunMcus = 8;
inline constexpr std::size_t kRunBlocks = kRunMcus * 6;

// Puts a strand at a position, in bits, of a segment.
void StartAt(std::uint64_t position, const std::uint8_t* bytes, std::size_t size,
             kernels::Strand& strand) noexcept;
std::uint64_t PositionOf(const kernels::Strand& strand, const std::uint8_t* bytes) noexcept;

// Whether it is neither at its run's end nor beyond its segment.
bool IsRunning(const kernels::Strand& strand) noexcept;

// The run of MCUs from `mcu` on, at most kRunMcus, that are all wanted or none and lie in one row.
kernels::BlockRun RunFrom(const kernels::SegmentJob& job, std::uint32_t mcu,
                          std::uint32_t end) noexcept;

// The tables of a run's blocks, with the halt behind them.
class RunTables {
 public:
  // `tables`: those of each component, with look-ups of the same number of bits.
  void Make(const kernels::SegmentJob& job, const StrandTables* tables, bool wanted);

  std::uint32_t mcu_blocks() const noexcept { return mcu_blocks_; }

  // Gives a strand a run of as many MCUs, whose coefficients go to `blocks`.
  void StartRun(std::uint32_t mcus, std::int16_t* blocks, kernels::Strand& strand) const noexcept;

 private:
  const StrandTable* table_[kRunBlocks * kBlockTables + 1] = {};
  const StrandTable* const* end_ = nullptr;
  std::uint32_t mcu_blocks_ = 0;
  std::uint32_t unseen_ = 0;  // Strand::unseen
};

}  // namespace sluice::baseline
