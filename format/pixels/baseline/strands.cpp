// Strands and SplitSegment share one loop: the kernel runs the strands until at least one is done,
// and IsRunning() tells which. Strands that have more to do come first in `strand_`; one that has
// nothing left changes places with the last of them, and `place_` keeps whose task or part it is.
// Blocks must be zeros when a run begins. Finishing a run leaves zeros, and blocks that are not
// finished must be cleared (Drop(), FinishForViews()). After a fault or an exception the blocks are
// freed instead.
#include "format/pixels/baseline/strands.h"

#include <algorithm>
#include <utility>

#include "format/pixels/kept_memory.h"

namespace sluice::baseline {

using kernels::BlockRun;
using kernels::SegmentJob;
using kernels::Strand;

// The number of zeros below the lowest set bit of Strand::bits is the number of bits of `in`
// consumed.
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

namespace {

// Whether a segment of `size` bytes is used up, as in DecodeSegment(): bits that are left of the
// last byte are filling, but a whole byte that is left means that codes were missing.
bool IsUsedUp(std::size_t size, std::uint64_t position) noexcept {
  return size * 8 - position < 8;
}

// Whether a view's blocks become as large as the job's.
bool HasSizesOf(const SegmentJob& job, const SegmentJob& view) noexcept {
  for (std::uint32_t c = 0; c < job.components; ++c) {
    if (job.component[c].size_log2 != view.component[c].size_log2) return false;
  }
  return true;
}

}  // namespace

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
  const StrandTable** next_entry = table_;
  mcu_blocks_ = 0;
  unseen_ = 64 - tables[0].bits;
  for (std::uint32_t c = 0; c < job.components; ++c)
    mcu_blocks_ += job.component[c].across * job.component[c].down;
  for (std::uint32_t m = 0; m < kRunMcus; ++m) {
    for (std::uint32_t c = 0; c < job.components; ++c) {
      const kernels::ComponentJob& component = job.component[c];
      const bool mean_alone = component.size_log2 == 0;
      const BlockTables& block_tables =
          wanted && !mean_alone ? *tables[c].wanted : *tables[c].skipped;
      for (std::uint32_t b = 0; b < component.across * component.down; ++b) {
        for (const StrandTable& table : block_tables.of)
          *next_entry++ = &table;
      }
    }
  }
  *next_entry = &StrandHalt();
  end_ = next_entry;
}

// A run of fewer MCUs uses the list's tail, so that it ends at the halt.
void RunTables::StartRun(std::uint32_t mcus, std::int16_t* blocks, Strand& strand) const noexcept {
  const std::size_t count = std::size_t{mcus} * mcu_blocks_;
  strand.next = end_ - count * kBlockTables;
  strand.out = blocks;
  strand.unseen = unseen_;
  strand.end = blocks + count * (kBlockBytes / sizeof(std::int16_t));
}

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
  if (views_.empty() || !task.run.wanted) {
    set.finish_blocks(job, task.run);
  } else {
    FinishForViews(set, job, task.run);
  }
  return !AtSegmentEnd(i) || !task.segment.whole || IsUsedUp(task.size, bits);
}

// Gives each view the MCUs of the run that lie in its window, and leaves zeros behind. Transforming
// uses up the coefficients, so each view gets a copy, except one that wants the whole run at the
// sizes that were decoded: it comes last.
void Strands::FinishForViews(const kernels::Kernels& set, const SegmentJob& job,
                             const BlockRun& run) {
  constexpr std::size_t kBlock = kBlockBytes / sizeof(std::int16_t);
  const std::size_t mcu = wanted_.mcu_blocks() * kBlock;
  const std::uint32_t x = run.first_mcu % job.mcus_across, y = run.first_mcu / job.mcus_across;
  // The run's blocks hold differences of DC coefficients. Adds those before MCU `end` to `dc`.
  const auto add_differences = [&](std::uint32_t end, std::uint32_t* dc) {
    const std::int16_t* block = run.blocks;
    for (std::uint32_t m = 0; m < end; ++m) {
      for (std::uint32_t c = 0; c < job.components; ++c) {
        for (std::uint32_t b = job.component[c].across * job.component[c].down; b > 0; --b) {
          dc[c] += static_cast<std::uint32_t>(*block);
          block += kBlock;
        }
      }
    }
  };
  const SegmentJob* last = nullptr;
  for (const SegmentJob& view : views_) {
    const std::uint32_t left = std::max(x, view.left), right = std::min(x + run.mcus, view.right);
    if (y < view.top || y >= view.bottom || left >= right) continue;
    if (last == nullptr && right - left == run.mcus && HasSizesOf(job, view)) {
      last = &view;
      continue;
    }
    std::uint32_t dc[3] = {run.dc[0], run.dc[1], run.dc[2]};
    add_differences(left - x, dc);
    std::copy_n(run.blocks + (left - x) * mcu, (right - left) * mcu, copy_);
    set.finish_blocks(
        view,
        {.blocks = copy_, .first_mcu = run.first_mcu + (left - x), .mcus = right - left, .dc = dc});
  }
  if (last != nullptr) {
    set.finish_blocks(*last, run);
    return;
  }
  add_differences(run.mcus, run.dc);
  std::fill_n(run.blocks, run.mcus * mcu, std::int16_t{0});
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
          // Strands that are still busy come first.
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
                     std::span<const SegmentJob> views, const StrandTables* tables,
                     WantedSegments& wanted, Segments& segments) {
  // A broken scan or an exception leaves coefficients behind: only clean blocks are kept.
  std::unique_ptr<Blocks> blocks = std::move(blocks_);
  if (blocks == nullptr) blocks = std::make_unique<Blocks>();
  views_ = views;
  copy_ = blocks->copy[0];
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

std::int16_t* SplitSegment::BlocksOf(const Part& part, std::uint32_t mcu) const noexcept {
  return part.blocks + std::size_t{mcu} * tables_.mcu_blocks() * kBlockBytes / sizeof(std::int16_t);
}

void SplitSegment::Drop(const Part& part, std::uint32_t begin, std::uint32_t end) noexcept {
  std::fill(BlocksOf(part, begin), BlocksOf(part, end), std::int16_t{0});
}

void SplitSegment::Finish(std::int16_t* blocks, std::uint32_t mcus) {
  for (const std::uint32_t end = mcu_ + mcus; mcu_ != end;) {
    BlockRun run = RunFrom(*job_, mcu_, end);
    run.blocks = blocks;
    run.dc = dc_;
    set_->finish_blocks(*job_, run);
    mcu_ += run.mcus;
    blocks += std::size_t{run.mcus} * tables_.mcu_blocks() * kBlockBytes / sizeof(std::int16_t);
  }
}

void SplitSegment::Begin(std::size_t i, std::uint64_t position) {
  Part& part = part_[i];
  part.mcus = 0;
  part.step = kFirstStep;
  part.met.reset();
  part.marks.assign(1, {position, 0});
  place_[i] = i;
  StartAt(position, job_->bytes, job_->size, strand_[i]);
}

// Begins the next parts, and returns their number: one if little is left, or else one for each
// strand. If parts would then have more than kPartBlocks, makes them shorter, and leaves bits for
// further rounds.
std::size_t SplitSegment::Divide() {
  const std::uint64_t bits_left = job_->size * 8 - position_;
  const std::uint64_t max_part_bits = mcu_bits_ * (kPartBlocks / tables_.mcu_blocks());
  std::size_t parts = 1;
  std::uint64_t part_bits = bits_left;
  if (bits_left > max_part_bits / 2) {
    parts = kernels::kStrands;
    const std::uint64_t rounds = bits_left / (parts * max_part_bits) + 1;
    part_bits = bits_left / (parts * rounds);
  }
  for (std::size_t i = 0; i < parts; ++i) {
    Begin(i, position_ + i * part_bits);
    part_[i].end = position_ + (i + 1) * part_bits;
  }
  return parts;
}

void SplitSegment::StartRun(std::size_t i) {
  Part& part = part_[place_[i]];
  const std::uint64_t position = PositionOf(strand_[i], job_->bytes);
  // Runs single MCUs where this strand may meet a mark, and while its own first marks are noted;
  // otherwise as many as fill about half of the rest of the part.
  std::uint64_t mcus = 1;
  if (position < part.end && (place_[i] == 0 || part.marks.size() > kFirstMcus))
    mcus = (part.end - position) / (2 * mcu_bits_) + 1;
  const std::uint32_t most = place_[i] == 0
                                 ? RunFrom(*job_, mcu_, job_->last_mcu).mcus
                                 : std::min(kRunMcus, kRoom / tables_.mcu_blocks() - part.mcus);
  part.run = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, mcus));
  tables_.StartRun(part.run, place_[i] == 0 ? part.blocks : BlocksOf(part, part.mcus), strand_[i]);
}

bool SplitSegment::FinishRun(std::size_t i) {
  Part& part = part_[place_[i]];
  const std::uint64_t position = PositionOf(strand_[i], job_->bytes);
  if (strand_[i].out != strand_[i].end || position > job_->size * 8) return false;
  part.mcus += part.run;
  if (place_[i] == 0) {
    Finish(part.blocks, part.run);
    position_ = position;
  } else {
    part.marks.push_back({position, part.mcus});
  }
  return true;
}

// Whether the part is at its end, or has met the next part, which part.met notes.
bool SplitSegment::EndsPart(std::size_t i, std::size_t parts) {
  const std::size_t number = place_[i];
  Part& part = part_[number];
  if (number == 0 && mcu_ == job_->last_mcu) return true;
  if (number != 0 && part.mcus == kRoom / tables_.mcu_blocks()) return true;
  const std::uint64_t position = PositionOf(strand_[i], job_->bytes);
  if (parts == 1 || position < part.end) return false;
  if (number + 1 == parts) return true;
  const Part& next = part_[number + 1];
  const auto mark = std::ranges::lower_bound(next.marks, position, {}, &Mark::position);
  if (mark == next.marks.end() || mark->position != position) return position >= next.end;
  part.met = mark->mcus;
  return true;
}

// Called if the strand has met invalid codes: drops its blocks and guesses a later position. False
// if the strand was in step before (then the data is broken), or if its part is used up.
bool SplitSegment::StartAgain(std::size_t i) {
  Part& part = part_[place_[i]];
  Drop(part, part.mcus, part.mcus + part.run);
  if (part.marks.size() > kFirstMcus) return false;
  Drop(part, 0, part.mcus);
  const std::uint64_t position = part.marks.back().position + part.step;
  part.step *= 2;
  part.mcus = 0;
  part.marks.assign(1, {position, 0});
  part_[place_[i] - 1].met.reset();
  if (position >= part.end) return false;
  StartAt(position, job_->bytes, job_->size, strand_[i]);
  return true;
}

// False if the segment is broken.
bool SplitSegment::RunParts(std::size_t parts) {
  for (std::size_t i = 0; i < parts; ++i)
    StartRun(i);
  for (std::size_t busy = parts; busy > 0;) {
    set_->run_strands(strand_, busy);
    for (std::size_t i = busy; i-- > 0;) {
      if (IsRunning(strand_[i])) continue;
      const bool sound = FinishRun(i);
      if (!sound && place_[i] == 0) return false;
      if (sound ? !EndsPart(i, parts) : StartAgain(i)) {
        StartRun(i);
      } else {
        --busy;
        std::swap(strand_[i], strand_[busy]);
        std::swap(place_[i], place_[busy]);
      }
    }
  }
  return true;
}

// Keeps the MCUs of each part from the mark that the part before it reached, and drops the MCUs
// before that mark.
void SplitSegment::Join(std::size_t parts) {
  bool in_step = true;
  for (std::size_t i = 1; i < parts; ++i) {
    const Part& part = part_[i];
    in_step = in_step && part_[i - 1].met.has_value();
    if (!in_step) {
      Drop(part, 0, part.mcus);
      continue;
    }
    const std::uint32_t begin = *part_[i - 1].met;
    // No more than the segment still lacks, counted from the part's beginning.
    const std::uint64_t max_mcus = std::uint64_t{begin} + job_->last_mcu - mcu_;
    auto last = part.marks.end() - 1;
    while (last->mcus > max_mcus)
      --last;
    Drop(part, 0, begin);
    Finish(BlocksOf(part, begin), last->mcus - begin);
    Drop(part, last->mcus, part.mcus);
    position_ = last->position;
    in_step = last->mcus == part.mcus;
  }
}

bool SplitSegment::DecodeAll() {
  while (mcu_ != job_->last_mcu) {
    const std::uint64_t position = position_;
    const std::uint32_t mcu = mcu_;
    const std::size_t parts = Divide();
    if (!RunParts(parts)) return false;
    Join(parts);
    mcu_bits_ = (position_ - position) / (mcu_ - mcu) + 1;
  }
  return !job_->whole || IsUsedUp(job_->size, position_);
}

bool SplitSegment::Decode(const kernels::Kernels& set, const kernels::SegmentJob& job,
                          const StrandTables* tables) {
  set_ = &set;
  job_ = &job;
  tables_.Make(job, tables, true);
  // A broken scan or an exception leaves coefficients behind: only clean blocks are kept.
  std::unique_ptr<Blocks> blocks = std::move(blocks_);
  if (blocks == nullptr) blocks = std::make_unique<Blocks>();
  part_[0].blocks = blocks->first[0];
  for (std::size_t i = 1; i < kernels::kStrands; ++i)
    part_[i].blocks = blocks->waiting[i - 1][0];
  position_ = 0;
  mcu_ = job.first_mcu;
  std::fill(std::begin(dc_), std::end(dc_), 0);
  mcu_bits_ = job.size * 8 / (job.last_mcu - job.first_mcu) + 1;
  if (!DecodeAll()) return false;
  blocks_ = std::move(blocks);
  return true;
}

}  // namespace sluice::baseline
