// Operations on pixels (reader/transform/pixel_op.h) on a device, fused with the conversion to
// numbers (pixels_to_numbers.h): pixels are read from where they were copied to, changed, and
// written once.
//
// A block of threads makes a sample, in phases; all threads wait for one another between phases.
// The last phase writes. Operations that need only a pixel's own values (pixel_ops_point.h) are
// done whenever pixels are read. An operation that needs the whole picture has phases of its own
// before the last one:
//
//   kContrast            finds the picture's mean: reads pixels, applies the operations so far, and
//                        sums the results without storing them
//   kStretch, kEqualize  count the values in the same way, and make a table of them (ValueBy)
//   kSharpen, kBlur,     change pixels where they lie, and filter them from there into the other of
//   kWarp...             two places, which later phases read; a blur has two phases, the second of
//                        which filters them back (pixel_ops_filter.h)
//
// A sample without any of them has one phase, and may be shared by several blocks.
//
// The work of one thread is written here once, for a GPU (pixel_kernels.cu) and for the CPU
// (tests/device/simulated_device.cpp), with the arithmetic of the host's own steps. C++17: nvcc
// compiles this.
#pragma once

#include "reader/device/pixel_ops_filter.h"
#include "reader/device/pixel_ops_point.h"
#include "reader/device/pixels_to_numbers.h"

namespace sluice {

// The new value that kStretch or kEqualize gives to a value of a channel. Any thread can compute
// one by itself. `counts` has the number of the channel's pixels with each of the 256 values.
SLUICE_ON_DEVICE inline std::uint8_t StretchedBy(const std::uint32_t* counts, std::uint32_t value) {
  int low = 0, high = 255;
  while (low < 255 && counts[low] == 0)
    ++low;
  while (high > 0 && counts[high] == 0)
    --high;
  if (high <= low) return static_cast<std::uint8_t>(value);
  return on_device::StretchedValue(static_cast<int>(value), low,
                                   on_device::StretchScale(low, high));
}

SLUICE_ON_DEVICE inline std::uint8_t EqualizedBy(const std::uint32_t* counts, std::uint64_t pixels,
                                                 std::uint32_t value) {
  std::uint32_t greatest = 255;
  while (greatest > 0 && counts[greatest] == 0)
    --greatest;
  const std::uint64_t step = on_device::EqualStep(pixels, counts[greatest]);
  if (step == 0) return static_cast<std::uint8_t>(value);
  std::uint64_t below = 0;
  for (std::uint32_t v = 0; v < value; ++v)
    below += counts[v];
  return on_device::EqualValue(below, step);
}

SLUICE_ON_DEVICE inline std::uint8_t ValueBy(PixelOpKind kind, const std::uint32_t* counts,
                                             std::uint64_t pixels, std::uint32_t value) {
  return kind == PixelOpKind::kStretch ? StretchedBy(counts, value)
                                       : EqualizedBy(counts, pixels, value);
}

// Shared by the threads of a block.
struct PixelOpScratch {
  static constexpr std::uint32_t kMaxThreads = 512;
  static constexpr std::uint32_t kParts = 16;
  static constexpr std::uint32_t kMaxOps = 256;  // for a sample
  std::uint64_t of_thread[kMaxThreads];          // sums
  std::uint64_t of_part[kParts];                 // sums of those
  std::uint32_t counts[3 * 256];                 // by channel and value
  std::uint32_t weights[kMaxWeights];            // of the kBlur
  std::uint8_t means[kMaxOps];                   // of each kContrast so far
  std::uint8_t table[3 * 256];                   // of the kStretch or kEqualize
};

// A thread, its block, and the number of blocks that make a sample together.
struct PixelOpThread {
  std::uint64_t sample = 0;
  std::uint32_t block = 0, blocks = 1;
  std::uint32_t thread = 0, threads = 1;
};

enum class PhaseKind : std::uint8_t {
  kStart,     // before the first phase
  kSum,       // kContrast: each thread sums the lightness of its pixels
  kSumParts,  // kContrast: some threads add up the sums of the others
  kMean,      // kContrast: one thread computes the picture's mean
  kClear,     // kStretch, kEqualize: counts become zero
  kCount,     // kStretch, kEqualize: all pixels' values are counted
  kTable,     // kStretch, kEqualize: the table of new values is made
  kSettle,    // before a filter or a second table: pixels are changed where they lie
  kFilter,    // kSharpen, kWarp...: filtered pixels go to the other place
  kColumns,   // kBlur: sums along columns go to the spare place
  kLines,     // kBlur: from there, blurred pixels go back
  kWrite,     // the numbers are written
};

// A phase of a sample, and how far its operations have come.
struct Phase {
  PhaseKind kind = PhaseKind::kStart;
  bool spare = false;           // the picture lies in the spare place, not where it was copied to
  bool table = false;           // the table belongs to an operation between `begin` and `op`
  std::uint32_t begin = 0;      // the first operation not yet written to the picture
  std::uint32_t op = 0;         // the operation that the phase is for
  std::uint32_t contrasts = 0;  // kContrasts between `begin` and `op` whose means are known
};

SLUICE_ON_DEVICE inline const PixelOp* OpsOf(const Conversion& job, std::uint64_t sample) {
  return job.ops + sample * job.ops_each;
}
SLUICE_ON_DEVICE inline std::uint32_t CountOps(const Conversion& job, std::uint64_t sample) {
  const PixelOp* const ops = OpsOf(job, sample);
  std::uint32_t count = 0;
  while (count < job.ops_each && ops[count].kind != PixelOpKind::kEnd)
    ++count;
  return count;
}

// The first of an operation's own phases, kSettle aside; kStart if it has none.
SLUICE_ON_DEVICE inline PhaseKind FirstPhaseOf(PixelOpKind kind) {
  switch (kind) {
    case PixelOpKind::kContrast: return PhaseKind::kSum;
    case PixelOpKind::kStretch:
    case PixelOpKind::kEqualize: return PhaseKind::kClear;
    case PixelOpKind::kSharpen:
    case PixelOpKind::kWarpNearest:
    case PixelOpKind::kWarpBilinear: return PhaseKind::kFilter;
    case PixelOpKind::kBlur: return PhaseKind::kColumns;
    case PixelOpKind::kEnd:
    case PixelOpKind::kWords:
    case PixelOpKind::kBrightness:
    case PixelOpKind::kSaturation:
    case PixelOpKind::kHue:
    case PixelOpKind::kHsv:
    case PixelOpKind::kExchange:
    case PixelOpKind::kGrey:
    case PixelOpKind::kInvert:
    case PixelOpKind::kSolarize:
    case PixelOpKind::kPosterize:
    case PixelOpKind::kErase:
    case PixelOpKind::kNoise: break;
  }
  return PhaseKind::kStart;
}
// Whether the operations before this one must first change the picture in memory: before a filter,
// which reads neighbours from there, and before a second table, as there is room for one. Before a
// blur there is always a kSettle, even without earlier operations: it also stores the blur's
// weights.
SLUICE_ON_DEVICE inline bool SettlesFirst(const Phase& phase, PhaseKind first) {
  switch (first) {
    case PhaseKind::kClear: return phase.table;
    case PhaseKind::kFilter: return phase.begin < phase.op;
    case PhaseKind::kColumns: return true;
    default: return false;
  }
}
// Notes that the picture in memory now has all operations before `op`.
SLUICE_ON_DEVICE inline void MarkWrittenUpTo(std::uint32_t op, Phase& phase) {
  phase.begin = phase.op = op;
  phase.contrasts = 0;
  phase.table = false;
}

// Advances to the next phase for a list of `count` operations; false after the last one.
SLUICE_ON_DEVICE inline bool AdvancePhase(const PixelOp* ops, std::uint32_t count, Phase& phase) {
  const auto go_to = [&phase](PhaseKind kind) {
    phase.kind = kind;
    return true;
  };
  switch (phase.kind) {
    case PhaseKind::kStart: break;
    case PhaseKind::kSum: return go_to(PhaseKind::kSumParts);
    case PhaseKind::kSumParts: return go_to(PhaseKind::kMean);
    case PhaseKind::kMean:
      ++phase.contrasts;
      ++phase.op;
      break;
    case PhaseKind::kClear: return go_to(PhaseKind::kCount);
    case PhaseKind::kCount: return go_to(PhaseKind::kTable);
    case PhaseKind::kTable:
      phase.table = true;
      ++phase.op;
      break;
    case PhaseKind::kSettle: {
      MarkWrittenUpTo(phase.op, phase);
      const PhaseKind first = FirstPhaseOf(ops[phase.op].kind);
      if (first == PhaseKind::kColumns) phase.spare = false;
      return go_to(first);
    }
    case PhaseKind::kColumns: return go_to(PhaseKind::kLines);
    case PhaseKind::kFilter:
    case PhaseKind::kLines: {
      // A filter leaves the picture in the other place, a blur where it was copied to.
      if (phase.kind == PhaseKind::kFilter) phase.spare = !phase.spare;
      std::uint32_t next = phase.op + 1;
      while (next < count && ops[next].kind == PixelOpKind::kWords)
        ++next;
      MarkWrittenUpTo(next, phase);
      break;
    }
    case PhaseKind::kWrite: return false;
  }
  for (; phase.op < count; ++phase.op) {
    const PhaseKind first = FirstPhaseOf(ops[phase.op].kind);
    if (first == PhaseKind::kStart) continue;
    return go_to(SettlesFirst(phase, first) ? PhaseKind::kSettle : first);
  }
  return go_to(PhaseKind::kWrite);
}

// The sample's picture: where it was copied to, or in the spare place.
SLUICE_ON_DEVICE inline std::uint8_t* PictureOf(const Conversion& job, std::uint64_t sample,
                                                bool spare) {
  return spare ? job.spare + sample * job.spare_each
               : job.from + sample * job.pixels * job.channels;
}

// The work of PhaseKind::kSum on a run of pixels that the operations so far have changed.
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline std::uint64_t SumOfLightness(const FourPixels& run,
                                                     std::uint32_t channels) {
  std::uint64_t sum = 0;
  SLUICE_UNROLL
  for (std::uint32_t p = 0; p < kCount; ++p) {
    const std::uint8_t* const values = run.at + 3 * p;
    sum += channels == 3 ? on_device::GreyValue(values[0], values[1], values[2]) : values[0];
  }
  return sum;
}
// The work of PhaseKind::kCount on such a run.
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline void CountValues(const FourPixels& run, std::uint32_t channels,
                                         PixelOpScratch& scratch) {
  SLUICE_UNROLL
  for (std::uint32_t p = 0; p < kCount; ++p) {
    SLUICE_UNROLL
    for (std::uint32_t c = 0; c < 3; ++c)
      if (c < channels) AddAtomically(scratch.counts[c * 256 + run.at[3 * p + c]], 1);
  }
}
// The work of PhaseKind::kWrite on such a run.
template <class Number, std::uint32_t kCount>
SLUICE_ON_DEVICE inline void StoreNumbers(const Conversion& job, const Number* table,
                                          std::uint64_t sample, std::uint64_t first,
                                          const FourPixels& run) {
  if (kCount == 1) {
    StorePixel(job, table, sample, first, run.at);
  } else if (job.planar) {
    StoreFour<Number, true>(job, table, sample, first, run);
  } else {
    StoreFour<Number, false>(job, table, sample, first, run);
  }
}

// A thread's work in a phase that reads pixels, kCount at a time. One loop serves all such phases:
// with a copy of the operations for each, the kernel was four times as large, and spilled
// registers.
template <class Number, std::uint32_t kCount>
SLUICE_ON_DEVICE inline void ReadingPhase(const Conversion& job, const Number* table,
                                          std::uint32_t count, const Phase& phase,
                                          const PixelOpThread& at, PixelOpScratch& scratch) {
  const std::uint32_t channels = kCount == 4 ? 3 : job.channels;
  const PixelOp* const ops = OpsOf(job, at.sample);
  const PixelOp* const end = ops + (phase.kind == PhaseKind::kWrite ? count : phase.op);
  const std::uint8_t* const picture = PictureOf(job, at.sample, phase.spare);
  // kColumns reads the picture where it was copied to, so kSettle must write there.
  const bool blurs = phase.kind == PhaseKind::kSettle && end->kind == PixelOpKind::kBlur;
  std::uint8_t* const settled = PictureOf(job, at.sample, phase.spare && !blurs);
  std::uint64_t sum = 0;
  const std::uint64_t step = std::uint64_t{at.threads} * at.blocks;
  for (std::uint64_t g = std::uint64_t{at.block} * at.threads + at.thread; g < job.pixels / kCount;
       g += step) {
    const std::uint64_t first = g * kCount;
    FourPixels run = LoadRun<kCount>(picture, channels, first);
    Findings found{scratch.means, scratch.table};
    for (const PixelOp* op = ops + phase.begin; op < end; ++op) {
      ApplyOp<kCount>(op, found, static_cast<std::uint32_t>(first), job.width, channels, run.at);
      found.means += op->kind == PixelOpKind::kContrast ? 1 : 0;
    }
    switch (phase.kind) {
      case PhaseKind::kSum: sum += SumOfLightness<kCount>(run, channels); break;
      case PhaseKind::kCount: CountValues<kCount>(run, channels, scratch); break;
      case PhaseKind::kSettle: StoreRun<kCount>(run, channels, first, settled); break;
      default: StoreNumbers<Number, kCount>(job, table, at.sample, first, run);
    }
  }
  if (phase.kind == PhaseKind::kSum) scratch.of_thread[at.thread] = sum;
}

// kSettle: stores the weights of a blur, which the phases after it need.
SLUICE_ON_DEVICE inline void StoreBlurWeights(const PixelOp* op, const PixelOpThread& at,
                                              PixelOpScratch& scratch) {
  if (op->kind != PixelOpKind::kBlur) return;
  for (std::uint32_t tap = at.thread; tap < op->number; tap += at.threads)
    scratch.weights[tap] = WeightOf(op, tap);
}
// kSettle: whether pixels change or move.
SLUICE_ON_DEVICE inline bool WritesPixels(const PixelOp* op, const Phase& phase) {
  return phase.begin < phase.op || (op->kind == PixelOpKind::kBlur && phase.spare);
}

// The work on sums and counts, which does not depend on how pixels are read.
SLUICE_ON_DEVICE inline void AddParts(const PixelOpThread& at, PixelOpScratch& scratch) {
  if (at.thread >= PixelOpScratch::kParts) return;
  std::uint64_t sum = 0;
  for (std::uint32_t i = at.thread; i < at.threads; i += PixelOpScratch::kParts)
    sum += scratch.of_thread[i];
  scratch.of_part[at.thread] = sum;
}
SLUICE_ON_DEVICE inline void FindMean(const Conversion& job, const Phase& phase,
                                      const PixelOpThread& at, PixelOpScratch& scratch) {
  if (at.thread != 0) return;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < PixelOpScratch::kParts && i < at.threads; ++i)
    sum += scratch.of_part[i];
  scratch.means[phase.contrasts] =
      static_cast<std::uint8_t>((2 * sum + job.pixels) / (2 * job.pixels));
}
SLUICE_ON_DEVICE inline void ClearCounts(const PixelOpThread& at, PixelOpScratch& scratch) {
  for (std::uint32_t i = at.thread; i < 3 * 256; i += at.threads)
    scratch.counts[i] = 0;
}
SLUICE_ON_DEVICE inline void MakeTable(const Conversion& job, PixelOpKind kind,
                                       const PixelOpThread& at, PixelOpScratch& scratch) {
  for (std::uint32_t i = at.thread; i < job.channels * 256; i += at.threads) {
    const std::uint32_t value = i % 256;
    scratch.table[i] = ValueBy(kind, scratch.counts + (i - value), job.pixels, value);
  }
}

// Operations that read from one place and write to the other.
SLUICE_ON_DEVICE inline void FilterPhase(const Conversion& job, const Phase& phase,
                                         const PixelOpThread& at, const PixelOpScratch& scratch) {
  FilterShare share;
  share.width = job.width;
  share.height = static_cast<std::uint32_t>(job.pixels / job.width);
  share.channels = job.channels;
  share.thread = at.thread;
  share.threads = at.threads;
  const PixelOp* const op = OpsOf(job, at.sample) + phase.op;
  std::uint8_t* const copied = PictureOf(job, at.sample, false);
  std::uint8_t* const spare = PictureOf(job, at.sample, true);
  auto* const sums = reinterpret_cast<std::uint16_t*>(spare);
  if (phase.kind == PhaseKind::kColumns)
    return BlurColumnsShare(share, scratch.weights, op->number, copied, sums);
  if (phase.kind == PhaseKind::kLines)
    return BlurLinesShare(share, scratch.weights, op->number, sums, copied);
  FilterPicture(share, op, phase.spare ? spare : copied, phase.spare ? copied : spare);
}

// A thread's work in one phase of a sample with `count` operations. If a sample has phases before
// kWrite, it has one block.
template <class Number>
SLUICE_ON_DEVICE inline void RunPhase(const Conversion& job, const Number* table,
                                      std::uint32_t count, const Phase& phase,
                                      const PixelOpThread& at, PixelOpScratch& scratch) {
  switch (phase.kind) {
    case PhaseKind::kStart: return;
    case PhaseKind::kSettle: {
      const PixelOp* const op = OpsOf(job, at.sample) + phase.op;
      StoreBlurWeights(op, at, scratch);
      if (!WritesPixels(op, phase)) return;
    }
      [[fallthrough]];
    case PhaseKind::kSum:
    case PhaseKind::kCount:
    case PhaseKind::kWrite:
      return InFours(job) ? ReadingPhase<Number, 4>(job, table, count, phase, at, scratch)
                          : ReadingPhase<Number, 1>(job, table, count, phase, at, scratch);
    case PhaseKind::kSumParts: return AddParts(at, scratch);
    case PhaseKind::kMean: return FindMean(job, phase, at, scratch);
    case PhaseKind::kClear: return ClearCounts(at, scratch);
    case PhaseKind::kTable:
      return MakeTable(job, OpsOf(job, at.sample)[phase.op].kind, at, scratch);
    case PhaseKind::kFilter:
    case PhaseKind::kColumns:
    case PhaseKind::kLines: return FilterPhase(job, phase, at, scratch);
  }
}

}  // namespace sluice
