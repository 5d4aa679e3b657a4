#include "format/pixels/baseline/strands.h"

#include <algorithm>
#include <utility>

namespace sluice::baseline {

namespace {

using kernels::BlockRun;
using kernels::SegmentJob;
using kernels::Strand;

// The run of MCUs from `mcu` on that are all wanted or none, in one row.
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
  run.mcus = std::min(until - x, end - mcu);
  return run;
}

}  // namespace

void Strands::LayOut(const SegmentJob& job, const StrandTables* const* tables) {
  const auto append = [](const StrandTable**& to, const BlockTables& of) {
    for (const StrandTable& table : of.of)
      *to++ = &table;
  };
  const StrandTable** wanted = wanted_list_.table;
  const StrandTable** skip = skip_list_.table;
  mcu_blocks_ = 0;
  for (std::uint32_t c = 0; c < job.components; ++c)
    mcu_blocks_ += job.component[c].across * job.component[c].down;
  for (std::uint32_t m = 0; m < kRunMcus; ++m) {
    for (std::uint32_t c = 0; c < job.components; ++c) {
      const kernels::ComponentJob& component = job.component[c];
      for (std::uint32_t b = 0; b < component.across * component.down; ++b) {
        const bool mean_alone = component.size_log2 == 0;
        append(wanted, mean_alone ? tables[c]->skipped : tables[c]->wanted);
        append(skip, tables[c]->skipped);
      }
    }
  }
  *wanted = *skip = &StrandHalt();
  wanted_list_.end = wanted;
  skip_list_.end = skip;
}

bool Strands::StartSegment(std::size_t i, const WantedSegment& segment, Segments& segments) {
  Task& task = TaskOf(i);
  Strand& strand = strand_[i];
  if (!segments.Seek(segment.number)) return false;
  task.size = segments.Read(task.bytes);
  task.segment = segment;
  task.next_mcu = segment.first_mcu;
  std::fill(std::begin(task.dc), std::end(task.dc), 0);
  strand.bits = 1;
  strand.in = task.bytes.data();
  strand.limit = strand.in + task.size;
  return true;
}

void Strands::StartRun(std::size_t i, const SegmentJob& job) {
  Task& task = TaskOf(i);
  Strand& strand = strand_[i];
  task.run = RunFrom(job, task.next_mcu, task.segment.last_mcu);
  task.run.mcus = std::min(task.run.mcus, kRunMcus);
  task.run.blocks = task.blocks;
  task.run.dc = task.dc;
  task.next_mcu += task.run.mcus;
  const std::size_t blocks = std::size_t{task.run.mcus} * mcu_blocks_;
  strand.next = (task.run.wanted ? wanted_list_ : skip_list_).end - blocks * kBlockTables;
  strand.out = task.run.blocks;
  strand.end = strand.out + blocks * (kBlockBytes / sizeof(std::int16_t));
}

bool Strands::FinishRun(std::size_t i, const kernels::Kernels& set, const SegmentJob& job) {
  const Task& task = TaskOf(i);
  const Strand& strand = strand_[i];
  const std::size_t bits = static_cast<std::size_t>(strand.in - task.bytes.data()) * 8 +
                           static_cast<std::size_t>(__builtin_ctzll(strand.bits));
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
      if (strand_[i].out < strand_[i].end && strand_[i].in <= strand_[i].limit) continue;
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

bool Strands::Decode(const kernels::Kernels& set, const SegmentJob& job,
                     const StrandTables* const* tables, WantedSegments& wanted,
                     Segments& segments) {
  if (blocks_ == nullptr) blocks_ = std::make_unique<Blocks>();
  LayOut(job, tables);
  for (std::size_t i = 0; i < kernels::kStrands; ++i) {
    place_[i] = i;
    task_[i].blocks = blocks_->of[i][0];
  }
  const bool sound = DecodeAll(set, job, wanted, segments);
  // A broken stream leaves its coefficients behind.
  if (!sound) *blocks_ = Blocks{};
  return sound;
}

}  // namespace sluice::baseline
