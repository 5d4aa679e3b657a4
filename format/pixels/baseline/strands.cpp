#include "format/pixels/baseline/strands.h"

#include <algorithm>
#include <utility>

#include "format/pixels/kept_memory.h"

namespace sluice::baseline {

using kernels::SegmentJob;
using kernels::Strand;

bool Strands::StartSegment(std::size_t i, const WantedSegment& segment, Segments& segments) {
  Task& task = TaskOf(i);
  if (!segments.Seek(segment.number)) return false;
  task.size = segments.Read(task.bytes);
  task.segment = segment;
  task.next_mcu = segment.first_mcu;
  std::fill(std::begin(task.dc), std::end(task.dc), 0);
  StartAt(0, task.bytes.data(), task.size, strand_[i]);
  return true;
}

void Strands::StartRun(std::size_t i, const SegmentJob& job) {
  Task& task = TaskOf(i);
  task.run = RunFrom(job, task.next_mcu, task.segment.last_mcu);
  task.run.blocks = task.blocks;
  task.run.dc = task.dc;
  task.next_mcu += task.run.mcus;
  (task.run.wanted ? wanted_ : skipped_).StartRun(task.run.mcus, task.blocks, strand_[i]);
}

bool Strands::FinishRun(std::size_t i, const kernels::Kernels& set, const SegmentJob& job) {
  const Task& task = TaskOf(i);
  const Strand& strand = strand_[i];
  const std::uint64_t bits = PositionOf(strand, task.bytes.data());
  if (strand.out != strand.end || bits > task.size * 8) return false;
  set.finish_blocks(job, task.run);
  // As DecodeSegment() has it: less than a byte may be left.
  return !AtSegmentEnd(i) || !task.segment.whole || task.size * 8 - bits < 8;
}

bool Strands::DecodeAll(const kernels::Kernels& set, const SegmentJob& job, WantedSegments& wanted,
                        Segments& segments) {
  WantedSegment segment;
  std::size_t busy = 0;
  while (busy < kernels::kStrands && wanted.Next(segment)) {
    if (!StartSegment(busy, segment, segments)) return false;
    StartRun(busy, job);
    ++busy;
  }
  while (busy > 0) {
    set.run_strands(strand_, busy);
    for (std::size_t i = busy; i-- > 0;) {
      if (IsRunning(strand_[i])) continue;
      if (!FinishRun(i, set, job)) return false;
      if (AtSegmentEnd(i)) {
        if (!wanted.Next(segment)) {
          // Those still busy are the first ones.
          --busy;
          std::swap(strand_[i], strand_[busy]);
          std::swap(place_[i], place_[busy]);
          continue;
        }
        if (!StartSegment(i, segment, segments)) return false;
      }
      StartRun(i, job);
    }
  }
  return true;
}

bool Strands::Decode(const kernels::Kernels& set, const SegmentJob& job, const StrandTables* tables,
                     WantedSegments& wanted, Segments& segments) {
  // What is broken, or thrown, leaves coefficients behind: only clean blocks are kept.
  std::unique_ptr<Blocks> blocks = std::move(blocks_);
  if (blocks == nullptr) blocks = std::make_unique<Blocks>();
  wanted_.Make(job, tables, true);
  skipped_.Make(job, tables, false);
  for (std::size_t i = 0; i < kernels::kStrands; ++i) {
    place_[i] = i;
    task_[i].blocks = blocks->of[i][0];
  }
  const bool sound = DecodeAll(set, job, wanted, segments);
  if (sound) blocks_ = std::move(blocks);
  for (Task& task : task_)
    FreeLarge(task.bytes);
  return sound;
}

}  // namespace sluice::baseline
