// Decodes a scan's segments three at a time in one thread (kernels/strands.inc.h says why), to the
// same samples as one after another, and with the same verdict on broken ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "format/pixels/baseline/segments.h"
#include "format/pixels/baseline/strand_run.h"
#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/baseline/wanted_segments.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

// Keeps its memory from picture to picture; one thread at a time.
class Strands {
 public:
  // Decodes all wanted segments. `tables`: those of each component. False if a segment is missing
  // or broken.
  bool Decode(const kernels::Kernels& set, const kernels::SegmentJob& job,
              const StrandTables* tables, WantedSegments& wanted, Segments& segments);

 private:
  // What a strand is at.
  struct Task {
    std::vector<std::uint8_t> bytes;
    std::size_t size = 0;  // of the segment
    WantedSegment segment;
    std::uint32_t next_mcu = 0;  // after the run
    kernels::BlockRun run;
    std::int16_t* blocks = nullptr;
    std::uint32_t dc[3] = {};
  };
  // Coefficients of each strand's run; zeros between runs.
  struct Blocks {
    alignas(kBlockBytes) std::int16_t of[kernels::kStrands][kRunBlocks + 1][64] = {};
  };
  // False if the coded data is broken.
  bool DecodeAll(const kernels::Kernels& set, const kernels::SegmentJob& job,
                 WantedSegments& wanted, Segments& segments);
  bool StartSegment(std::size_t i, const WantedSegment& segment, Segments& segments);
  void StartRun(std::size_t i, const kernels::SegmentJob& job);
  bool FinishRun(std::size_t i, const kernels::Kernels& set, const kernels::SegmentJob& job);
  bool AtSegmentEnd(std::size_t i) noexcept {
    return TaskOf(i).next_mcu == TaskOf(i).segment.last_mcu;
  }
  Task& TaskOf(std::size_t i) noexcept { return task_[place_[i]]; }

  std::unique_ptr<Blocks> blocks_;  // where the first picture needs them
  Task task_[kernels::kStrands];
  kernels::Strand strand_[kernels::kStrands];  // those that are running come first
  std::size_t place_[kernels::kStrands] = {};  // of each strand's task; memory stays where it is
  RunTables wanted_, skipped_;
};

}  // namespace sluice::baseline
