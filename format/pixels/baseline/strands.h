// Decoding a scan at three places at once, in one thread.
//
// Where a Huffman code ends is known only when it has been looked up, so a single decoder spends
// most of its time waiting for the look-up before. A *strand* is the state of a decoder at one
// place of the coded data. Three strands do not wait for each other: a loop takes a step of each in
// turn (kernels/strands.inc.h), and the processor overlaps them.
//
//    step  one look-up of 11 bits gives up to 7 coefficients, the bits that they took, where they
//          go in their block, and which table comes next (strand_table.h)
//    run   up to 8 MCUs, whose blocks lie one after another. A list has the tables of each block
//          and, at its end, a table on which a strand halts (RunTables). After the run its blocks
//          are still in the first cache: they are transformed, and become zeros again.
//
// With restart markers, each strand has a segment of its own, and takes the next one when it ends
// (Strands):
//
//    scan |=== segment 0 ===|RST|=== segment 1 ===|RST|=== segment 2 ===|RST|=== segment 3 ...
//          strand 0 -->          strand 1 -->          strand 2 -->          the first that is free
//
// Without them, nothing says where an MCU begins, so the second and the third strand begin anywhere
// (SplitSegment). Such a strand soon falls in step with the codes: within one or two MCUs of a
// photo. It notes the bits at which its first MCUs seem to begin (x). The MCUs from such a bit on
// count only if the strand before it reaches the same bit, at the beginning of an MCU. Only then
// are the numbers of these MCUs known; until then their coefficients wait.
//
//    bits     0 -------------------- 1/3 -------------------- 2/3 -------------------- end
//    strand 0 |MCU|MCU|MCU| ...  |MCU|MCU|  <- meets strand 1 here, at its second x
//    strand 1                        ?x??|x|MCU|MCU| ...  |MCU|MCU|  <- meets strand 2
//    strand 2                                                 ?x??|x|MCU| ...
//
// Either way the samples, and the verdict on a broken scan, are those of decoding from the
// beginning. scan_decoder.h chooses between these two and decoding one segment after another.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/pixels/baseline/segments.h"
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

// Whether the strand is neither at its run's end nor beyond its segment.
bool IsRunning(const kernels::Strand& strand) noexcept;

// The run that begins at `mcu`: at most kRunMcus MCUs, before `end`, in one row, and either all
// wanted or all not wanted.
kernels::BlockRun RunFrom(const kernels::SegmentJob& job, std::uint32_t mcu,
                          std::uint32_t end) noexcept;

// The tables of a run's blocks, with the halt after them.
class RunTables {
 public:
  // `tables`: those of each component, with look-ups of the same number of bits.
  void Make(const kernels::SegmentJob& job, const StrandTables* tables, bool wanted);

  std::uint32_t mcu_blocks() const noexcept { return mcu_blocks_; }

  // Gives a strand a run of `mcus` MCUs, whose coefficients go to `blocks`.
  void StartRun(std::uint32_t mcus, std::int16_t* blocks, kernels::Strand& strand) const noexcept;

 private:
  const StrandTable* table_[kRunBlocks * kBlockTables + 1] = {};
  const StrandTable* const* end_ = nullptr;
  std::uint32_t mcu_blocks_ = 0;
  std::uint32_t unseen_ = 0;  // Strand::unseen
};

// Decodes the segments between restart markers, one segment in each strand. Keeps its memory from
// picture to picture; one thread at a time.
class Strands {
 public:
  // Decodes all wanted segments. `tables`: those of each component. False if a segment is missing
  // or broken. `views`: jobs whose windows lie in the job's window. If there are any, samples go
  // only to the planes of the views, and each view gets what it would get by itself.
  bool Decode(const kernels::Kernels& set, const kernels::SegmentJob& job,
              std::span<const kernels::SegmentJob> views, const StrandTables* tables,
              WantedSegments& wanted, Segments& segments);

 private:
  // The segment and the run that a strand is working on.
  struct Task {
    std::vector<std::uint8_t> bytes;
    std::size_t size = 0;  // of the segment
    WantedSegment segment;
    std::uint32_t next_mcu = 0;  // the first one after the run
    kernels::BlockRun run;
    std::int16_t* blocks = nullptr;  // of the run: one of Blocks::of
    std::uint32_t dc[3] = {};        // each component's last DC coefficient before the run
  };
  struct Blocks {
    // Coefficients of each strand's run; zeros between runs.
    alignas(kBlockBytes) std::int16_t of[kernels::kStrands][kRunBlocks + 1][64] = {};
    // A copy of a run for one of the views.
    alignas(kBlockBytes) std::int16_t copy[kRunBlocks + 1][64] = {};
  };
  // False if the coded data is broken.
  bool DecodeAll(const kernels::Kernels& set, const kernels::SegmentJob& job,
                 WantedSegments& wanted, Segments& segments);
  bool StartSegment(std::size_t i, const WantedSegment& segment, Segments& segments);
  void StartRun(std::size_t i, const kernels::SegmentJob& job);
  bool FinishRun(std::size_t i, const kernels::Kernels& set, const kernels::SegmentJob& job);
  void FinishForViews(const kernels::Kernels& set, const kernels::SegmentJob& job,
                      const kernels::BlockRun& run);
  bool AtSegmentEnd(std::size_t i) noexcept {
    return TaskOf(i).next_mcu == TaskOf(i).segment.last_mcu;
  }
  Task& TaskOf(std::size_t i) noexcept { return task_[place_[i]]; }

  std::span<const kernels::SegmentJob> views_;
  std::int16_t* copy_ = nullptr;    // Blocks::copy
  std::unique_ptr<Blocks> blocks_;  // made when a picture first needs them
  Task task_[kernels::kStrands];
  kernels::Strand strand_[kernels::kStrands];  // those that are running come first
  // The number of each strand's task: when strands change places, tasks and their memory do not
  // move.
  std::size_t place_[kernels::kStrands] = {};
  RunTables wanted_, skipped_;
};

// Decodes one long segment from three places at once. Keeps its memory from picture to picture; one
// thread at a time.
class SplitSegment {
 public:
  // Whether a segment of that many bytes is long enough. Shorter ones take only microseconds.
  static bool Pays(std::size_t size) noexcept { return size >= 4096; }

  // Decodes the job's segment, every MCU of which must be wanted. `tables`: those of each
  // component. False if the segment is broken.
  bool Decode(const kernels::Kernels& set, const kernels::SegmentJob& job,
              const StrandTables* tables);

 private:
  static constexpr std::uint32_t kPartBlocks = 384;        // about how many blocks a part has
  static constexpr std::uint32_t kRoom = 2 * kPartBlocks;  // the most blocks of a part that wait
  // How many MCUs at the beginning of a part are run one by one, so that each gets a mark. After
  // them, the strand is likely to be in step.
  static constexpr std::size_t kFirstMcus = 8;

  static constexpr std::uint64_t kFirstStep = 8;  // of Part::step

  // Where an MCU begins, and how many of its part's MCUs lie before it.
  struct Mark {
    std::uint64_t position = 0;  // in bits
    std::uint32_t mcus = 0;
  };
  struct Part {
    std::uint64_t end = 0;   // in bits: where the next part began
    std::uint32_t mcus = 0;  // that were decoded
    std::uint32_t run = 0;   // MCUs of the run under way
    std::uint64_t step = 0;  // bits to the next guess; doubled each time, so that guesses are few
    std::int16_t* blocks = nullptr;
    std::vector<Mark> marks;  // the first one is where the part began
    // If this part reached a mark of the next part: how many of that part's MCUs lie before the
    // mark.
    std::optional<std::uint32_t> met;
  };
  struct Blocks {
    alignas(kBlockBytes) std::int16_t first[kRunBlocks + 1][64] = {};
    alignas(kBlockBytes) std::int16_t waiting[kernels::kStrands - 1][kRoom + 1][64] = {};
  };

  void Begin(std::size_t part, std::uint64_t position);
  std::size_t Divide();
  void StartRun(std::size_t i);
  bool FinishRun(std::size_t i);
  bool EndsPart(std::size_t i, std::size_t parts);
  bool StartAgain(std::size_t i);
  bool RunParts(std::size_t parts);
  void Join(std::size_t parts);
  void Finish(std::int16_t* blocks, std::uint32_t mcus);
  std::int16_t* BlocksOf(const Part& part, std::uint32_t mcu) const noexcept;
  void Drop(const Part& part, std::uint32_t begin, std::uint32_t end) noexcept;
  bool DecodeAll();

  const kernels::Kernels* set_ = nullptr;
  const kernels::SegmentJob* job_ = nullptr;
  std::unique_ptr<Blocks> blocks_;  // zeros, except for the coefficients that wait
  RunTables tables_;
  Part part_[kernels::kStrands];
  kernels::Strand strand_[kernels::kStrands];  // those that are running come first
  std::size_t place_[kernels::kStrands] = {};  // the number of each strand's part
  std::uint64_t position_ = 0;                 // in bits: all before it is decoded
  std::uint32_t mcu_ = 0;                      // the MCU that begins there
  std::uint32_t dc_[3] = {};                   // each component's last DC coefficient before it
  std::uint64_t mcu_bits_ = 0;                 // mean bits of an MCU in the last round
};

}  // namespace sluice::baseline
