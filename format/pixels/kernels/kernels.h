// The inner loops of decoding and encoding, compiled once for each instruction set and chosen once
// for the process.
//
// The algorithms are written once, in the headers of this folder whose names end in .inc.h, over a
// thin layer of vector operations (vector_plain.h, vector_avx2.h, vector_avx512.h, vector_neon.h).
// Loops over whole lines of samples (the sums of resampling, transposition, colour) are written for
// each set: lines_plain.h, which defines them, lines_avx2.h and lines_neon.h. The steps of
// transforms are defined by steps_plain.h. Those that change each pixel by itself are written once
// more, in steps_vector.inc.h, over vectors of bytes (bytes_avx2.h, bytes_neon.h); the others are
// in steps_avx2.h and steps_neon.h. Every set gives the same bytes.
//
// SLUICE_ISA=plain, avx2, avx512 or neon in the environment forces one set, if the build and the
// machine have it; the variable is read once.
//
// A new instruction set also goes into these files, where "neon" shows how:
//   format/CMakeLists.txt
//   format/pixels/kernels/dispatch.cpp
//   tools/ENVIRONMENT.md
//   tests/pixels/kernels_test.cpp
//   bench/notebook/count_instructions.sh
//   bench/machine/machine.h
//
// If it has its own lines_*.h, number_table.h (in reader/transform/) includes that file, too. If
// one processor can run several sets, dispatch.cpp chooses among them, and kernels_test.cpp says
// which is the last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/pixels/baseline/huffman.h"
#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/kernels/weight_rule.h"

namespace sluice::kernels {

// Bytes that may be read or written after the end of every buffer handed to a kernel.
inline constexpr std::size_t kSlack = 64;

// Length of the scale and offset arrays that Kernels::to_floats and its like repeat over the
// values: a multiple of one and of three channels, and of whole vectors.
inline constexpr std::size_t kFloatRun = 24;

// One component's part in decoding MCUs into its plane. Planes are stored by columns: the sample at
// (x, y) lies at plane[x * stride + y], so that both passes of resampling run along memory.
struct ComponentJob {
  const baseline::HuffmanTable* dc = nullptr;
  const baseline::HuffmanTable* ac = nullptr;
  const std::int16_t* quant = nullptr;  // natural order
  std::uint8_t* plane = nullptr;        // its first column and row are those of the window
  std::size_t stride = 0;
  std::uint32_t across = 1, down = 1;  // blocks of an MCU
  std::uint32_t size_log2 = 3;         // a block becomes 8, 4, 2 or 1 samples square
};

// The numbers that turn one JPEG's quantised coefficients into the nearest ones of another JPEG,
// ties away from zero, in zigzag order. Most lanes are unsigned 16-bit numbers; they are stored as
// signed numbers, because the vectors are loaded from signed ones.
struct NewSteps {
  // Magnitudes above this cannot be stored in the other file, or are not computed exactly.
  alignas(32) std::int16_t most[64] = {};
  alignas(32) std::int16_t step[64] = {};  // steps of the first JPEG, times eight
  // As in ForwardSteps, of the second JPEG.
  alignas(32) std::int16_t half[64] = {};
  alignas(32) std::int16_t reciprocal[64] = {};
  alignas(32) std::int16_t scale[64] = {};
};

// Where a component's blocks go.
struct BlockPlaces {
  std::int16_t* first = nullptr;
  std::uint32_t across = 0, down = 0;    // blocks; those outside are dropped
  std::uint32_t h_log2 = 0, v_log2 = 0;  // log2 of the blocks of an MCU, across and down
  std::size_t mcu = 0, row = 0;  // from an MCU and from a line of MCUs to the next, in values
};

// Where a picture's blocks go as coefficients, and with which steps.
struct Recoding {
  struct Component {
    const NewSteps* steps = nullptr;  // null: coefficients stay as they are
    BlockPlaces to;
  };
  Component component[3];
  // Components 1 and 2, of full size, become samples of half the size instead, in the job's planes.
  bool halves_chroma = false;
  bool natural = false;                 // coefficients in natural order instead of zigzag order
  std::uint32_t width = 0, height = 0;  // of the picture
  bool beyond = false;                  // set if a magnitude is above NewSteps::most
};

// A run of MCUs that are coded one after another. Only those inside a window are wanted.
struct SegmentJob {
  ComponentJob component[3];
  std::uint32_t components = 0;
  const std::uint8_t* bytes = nullptr;  // unstuffed, then baseline::kSegmentPadding zeros
  std::size_t size = 0;
  std::uint32_t first_mcu = 0, last_mcu = 0;  // [first, last) in scan order
  std::uint32_t mcus_across = 0;
  std::uint32_t left = 0, top = 0, right = 0, bottom = 0;  // the window, in MCUs
  bool whole = false;     // the segment ends with the last MCU: nothing may follow it
  bool transform = true;  // false leaves the planes unchanged: for measurements
  // If not null: what the coefficients become instead of samples in planes; all MCUs are wanted.
  Recoding* recoding = nullptr;
};

// A decoder at one of several places of a scan, all of which are decoded side by side
// (baseline/strands.h). The blocks of its run go to `out`, at multiples of baseline::kBlockBytes.
struct Strand {
  std::uint64_t bits = 1;            // as in StrandState (strands.inc.h); 1: none known
  const std::uint8_t* in = nullptr;  // unstuffed, with kSlack bytes after `limit`
  std::int16_t* out = nullptr;       // the next coefficient's place; zeros up to `end`
  const baseline::StrandTable* const* next = nullptr;  // each block's tables, then StrandHalt()
  const std::int16_t* end = nullptr;                   // of the run; a block of zeros follows
  const std::uint8_t* limit = nullptr;                 // the last address that `in` may get
  // Bits that a look-up does not see; the same for all strands that run together.
  std::uint32_t unseen = 64 - baseline::kStrandBits;
};
inline constexpr std::size_t kStrands = 3;

// A run of a segment's MCUs whose blocks were decoded by a strand: all wanted or none.
struct BlockRun {
  std::int16_t* blocks = nullptr;  // with differences of DC coefficients; becomes zeros
  std::uint32_t first_mcu = 0, mcus = 0;
  bool wanted = true;
  std::uint32_t* dc = nullptr;  // each component's last DC coefficient
};

// A row of a packed image's blocks (FORMAT.md, "Packed"). The blocks in [left, right) are unpacked
// into a plane stored by columns.
struct PackedLineJob {
  const std::uint8_t* bytes = nullptr;  // 16 more may be read
  std::size_t size = 0;
  std::uint32_t blocks = 0;
  std::uint32_t left = 0, right = 0;
  const std::int16_t* quant = nullptr;  // natural order
  std::uint8_t* plane = nullptr;        // its first column is that of block `left`
  std::size_t stride = 0;
  std::uint32_t size_log2 = 3;      // a block becomes 8, 4, 2 or 1 samples square
  std::uint64_t* masks = nullptr;   // room for `blocks`
  std::uint32_t* starts = nullptr;  // room for `blocks` and one more
  std::uint8_t* values = nullptr;   // room for 64 of each block, and kSlack
  bool transform = true;            // false leaves the plane unchanged: for measurements
};

// The weights for each output along an axis.
struct WeightJob : WeightRule {
  std::uint32_t* begin = nullptr;   // the first of each output's taps, counted from `first`
  std::uint16_t* values = nullptr;  // `taps` for each output, in 1/65536
};

// A weighted sum of lines: out[i] = (sum over t of (lines[t * stride + i] * 256 * weights[t] >> 16)
// + taps / 2 + 128) >> 8, saturating; with more than kManyTaps taps, (sum over t of lines[...] *
// weights[t] + 32768) >> 16. Weights are in 1/65536 and add up to 65536 at most.
struct LineSum {
  const std::uint8_t* lines = nullptr;
  std::size_t stride = 0;
  const std::uint16_t* weights = nullptr;
  std::uint32_t taps = 0;
};

// In what follows, coefficients for coding lie in blocks of 64 in zigzag order, one after another
// as a scan has them: each MCU's in turn.

// A run of blocks to code, and the state of the coding.
struct CodeJob {
  struct Component {
    const baseline::CodeWord* table = nullptr;  // one of the standard's
    std::uint32_t blocks = 1;                   // in an MCU
    std::int32_t dc = 0;                        // its last block's DC coefficient
  };
  Component component[3];
  std::uint32_t components = 0;
  const std::int16_t* blocks = nullptr;  // values that baseline has codes for
  std::uint32_t mcus = 0;
  // Bytes without stuffing. Room for kMaxBlockBytes of each block and kSlack.
  std::uint8_t* out = nullptr;
  std::uint64_t bits = 0;       // the lowest bit_count are coded, but not yet in `out`
  std::uint64_t bit_count = 0;  // below eight
};
inline constexpr std::size_t kMaxBlockBytes = 208;  // 64 words of 26 bits

// Divides by a quantisation step times eight, since forward transforms leave this factor in their
// results: half of the divisor is added, then the high halves of two multiplications are taken.
// Exact below 2^14.
struct ForwardSteps {
  // In natural order of coefficients.
  alignas(32) std::uint16_t half[64] = {};
  alignas(32) std::uint16_t reciprocal[64] = {};
  alignas(32) std::uint16_t scale[64] = {};
};

// A row of one component's blocks.
struct ForwardLine {
  const std::uint8_t* samples = nullptr;  // eight lines; eight more samples of each may be read
  std::size_t stride = 0;
  bool by_columns = false;  // columns of eight samples instead; eight more columns may be read
  std::uint32_t blocks = 0;
  const ForwardSteps* steps = nullptr;
  std::int16_t* out = nullptr;  // the first block's coefficients
  std::size_t mcu_stride = 0;   // in coefficients
  std::uint32_t across = 1;     // blocks of the row in an MCU
  bool natural = false;         // coefficients in natural order instead of zigzag order
};

// JPEG: entropy decoding with the inverse transform, entropy coding and the forward transform.
struct JpegKernels {
  // Decodes to samples in the planes, or to what job.recoding says. False if the coded data breaks
  // a rule of T.81; what was written is of no use then.
  bool (*decode_segment)(const SegmentJob& job);
  // Decodes up to kStrands strands until at least one of them is done: at the end of its run, or
  // beyond its limit if the coded data is broken.
  void (*run_strands)(Strand* strands, std::size_t count);
  bool strands_pay;  // whether they are faster than one segment after another
  // Turns a run's coefficients into what decode_segment makes of them.
  void (*finish_blocks)(const SegmentJob& job, const BlockRun& run);
  void (*code_blocks)(CodeJob& job);
  void (*transform_line)(const ForwardLine& row);
};

// Packed images.
struct PackedKernels {
  // Sets a bit for each coefficient that is not zero, in one mask for each of `count` blocks.
  void (*find_values)(const std::int16_t* blocks, std::size_t count, std::uint64_t* masks);
  // False if the row's parts do not fit into it; the plane then holds nothing of use.
  bool (*unpack_line)(const PackedLineJob& job);
};

// Tiled images, for values of each size.
struct TiledKernels {
  // Makes 8 * groups differences of groups that lie one after another from `at` on; group g has
  // widths[g] bytes, at most 8 * the size of a value. `words` has room for them. Reads up to 8 *
  // the size of a value beyond the last group.
  template <class U>
  using Unpack = void (*)(const std::uint8_t* at, const std::uint8_t* widths, std::size_t groups,
                          std::uint64_t* words, U* out);
  // Adds predictions (tiled::Predictor) to the differences of a tile's first `lines` lines.
  template <class U>
  using Predict = void (*)(U* tile, std::uint32_t width, std::uint32_t lines,
                           std::uint32_t predictor);
  Unpack<std::uint8_t> unpack8;
  Unpack<std::uint16_t> unpack16;
  Unpack<std::uint32_t> unpack32;
  Predict<std::uint8_t> predict8;
  Predict<std::uint16_t> predict16;
  Predict<std::uint32_t> predict32;
};

// Lines of samples: resampling and colour.
struct LineKernels {
  void (*make_weights)(const WeightJob& job);
  void (*sum_lines)(const LineSum& sum, std::size_t count, std::uint8_t* out);
  // out[y * out_stride + x] = in[x * in_stride + y], for `columns` of `rows` values each. Reads and
  // writes whole groups of 16 x 16, so both buffers must be that much larger.
  void (*transpose)(const std::uint8_t* in, std::size_t in_stride, std::size_t columns,
                    std::size_t rows, std::uint8_t* out, std::size_t out_stride);
  // Y Cb Cr to interleaved RGB, as JFIF defines it and libjpeg rounds it. Writes exactly 3 * count.
  void (*to_rgb)(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                 std::size_t count, std::uint8_t* rgb);
  // Like to_rgb, into three lines, `stride` apart. Each may be written kSlack beyond its end.
  void (*to_planes)(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                    std::size_t count, std::uint8_t* rgb, std::size_t stride);
  // Three lines of RGB, `stride` apart, to Y Cb Cr, as libjpeg rounds it. Reads and writes exactly
  // `count` values of each line.
  void (*to_ycc)(const std::uint8_t* rgb, std::size_t stride, std::size_t count, std::uint8_t* y,
                 std::uint8_t* cb, std::uint8_t* cr);
  // Two lines of 2 * count values to one of their means, as libjpeg rounds them.
  void (*halve_lines)(const std::uint8_t* above, const std::uint8_t* below, std::size_t count,
                      std::uint8_t* out);
  // Three lines to interleaved pixels. Writes exactly 3 * count.
  void (*join_rgb)(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b,
                   std::size_t count, std::uint8_t* rgb);
  // The reverse of join_rgb. Reads exactly 3 * count; each line may be written kSlack beyond its
  // end.
  void (*split_rgb)(const std::uint8_t* rgb, std::size_t count, std::uint8_t* r, std::uint8_t* g,
                    std::uint8_t* b);
  // Interleaved pixels in reverse order. Reads and writes exactly 3 * count.
  void (*mirror_rgb)(const std::uint8_t* in, std::size_t count, std::uint8_t* out);
};

// The channels of pixels, each by itself.
struct Planes {
  std::uint8_t *r = nullptr, *g = nullptr, *b = nullptr;
};

// A blur's weighted sums: of values[i + t * step] for each t below `taps`, an odd number. The
// weights are in 1/65536, the same at both ends, and add up to 65536.
struct BlurSum {
  const std::int16_t* values = nullptr;
  std::size_t step = 0;
  std::uint32_t taps = 0;
  // Minus the weights up to the middle: one of 32768 would not fit with the other sign. Half of the
  // middle one's, as its value is taken twice, like those at equal distances from it. Then a zero,
  // if they are an odd number.
  const std::int16_t* weights = nullptr;
  std::uint32_t pairs = 0;  // how many weights: an even number
};

// The factor of a blend a + factor * (b - a) of values of 0 to 255, and whole numbers that give the
// same values as floats do, for most factors.
struct BlendFactor {
  float factor = 1;
  // With d for the difference of b and a, without its sign: the whole part of factor * d is
  // d * whole + (d * fraction >> 16).
  std::uint16_t whole = 0, fraction = 0;
  bool scales = false;  // true for every d
  // Also, no factor * d lies so near to a whole number that it matters whether a is added before
  // the fraction is dropped.
  bool blends = false;
};
BlendFactor BlendFactorOf(float factor) noexcept;

// The places in a picture that a line of pixels shows, from its first one on. In 2^-32 pixels,
// counted from the centre of the picture's first pixel; none is negative.
struct PlaceLine {
  std::uint64_t x = 0, y = 0, x_step = 0, y_step = 0;
  std::uint32_t stride = 0, pixel = 0;  // bytes of the picture's lines and pixels
};

// The places that a line of pixels shows by a projective map: pixel i shows (x + i * x_step,
// y + i * y_step), each divided by (w + i * w_step), in pixels, less `origin`. Places are clamped
// to 0 .. x_most and y_most.
struct ProjectedLine {
  double x = 0, y = 0, w = 1, x_step = 0, y_step = 0, w_step = 0;
  double origin = 0, x_most = 0, y_most = 0;
  std::uint32_t stride = 0, pixel = 0;  // bytes of the picture's lines and pixels
};

// The steps of transforms, which change decoded pixels. Those that take planes may read and write
// kSlack beyond the end of each; the others read and write nothing beyond `count`.
// A change of colours in HSV: turns the hue by -3 to 3 sixths of the colour circle, and multiplies
// saturation and value, each cut off at its greatest.
struct HsvChange {
  float sixths = 0, saturation = 1, value = 1;
};

struct StepKernels {
  // data[i] becomes a + factor * (b - a), clamped to 0 .. 255, fractions dropped, in single
  // precision. b: its old value; a: `base` or from[i].
  void (*blend_with)(std::uint8_t* data, std::size_t count, std::uint8_t base,
                     const BlendFactor& factor);
  void (*blend_lines)(const std::uint8_t* from, std::uint8_t* data, std::size_t count,
                      const BlendFactor& factor);
  // Like blend_lines, where a is each pixel's own grey (GreyOf).
  void (*saturate)(const Planes& planes, std::size_t count, const BlendFactor& factor);
  // The sum of the pixels' greys (GreyOf); at most 2^24 of them.
  std::uint64_t (*sum_grey)(const Planes& planes, std::size_t count);
  // Turns the hue of pixels by -3 to 3 sixths of the colour circle.
  void (*turn_hues)(const Planes& planes, std::size_t count, float sixths);
  void (*change_hsv)(const Planes& planes, std::size_t count, const HsvChange& change);
  // Replaces all channels by the pixels' greys (GreyOf).
  void (*make_grey)(const Planes& planes, std::size_t count);
  // Replaces values by those that `table` has for them, out of 256.
  void (*look_up)(std::uint8_t* data, std::size_t count, const std::uint8_t* table);
  // Each value becomes how far it lies above `low`, times 1 + fraction / 65536: at most 255.
  void (*stretch)(std::uint8_t* data, std::size_t count, std::uint8_t low, std::uint16_t fraction);
  // Values from `least` on become 255 minus themselves.
  void (*invert_from)(std::uint8_t* data, std::size_t count, std::uint8_t least);
  // Keeps the bits of each value that are set in `mask`.
  void (*mask_bits)(std::uint8_t* data, std::size_t count, std::uint8_t mask);
  // Means of 3 x 3 values, the middle one counted five times, rounded. Neighbours on a line are
  // `step` values apart. out[i] is the mean around line[i + step]; `out` overlaps no line.
  void (*smooth_line)(const std::uint8_t* above, const std::uint8_t* line,
                      const std::uint8_t* below, std::size_t step, std::size_t count,
                      std::uint8_t* out);
  // Values of a picture to numbers of 16 bits.
  void (*widen)(const std::uint8_t* from, std::size_t count, std::int16_t* to);
  // out[i] = (the weighted sum around value i + 2^9) >> 10. Up to 16 sums more are read and
  // written.
  void (*blur_columns)(const BlurSum& sum, std::size_t count, std::int16_t* out);
  // out[i] = (the weighted sum around value i + 2^21) >> 22, on the sums that blur_columns made. Up
  // to 16 values more are read.
  void (*blur_line)(const BlurSum& sum, std::size_t count, std::uint8_t* out);
  // For each place, where the pixel before it lies in the picture, and the shares of the pixels
  // after it in 1/32768: across in the lower half, down in the upper one. Up to 7 more of each are
  // written.
  void (*find_places)(const PlaceLine& line, std::size_t count, std::uint32_t* offsets,
                      std::uint32_t* shares);
  // The same for pixels `first` to `first` + count - 1 of a projected line. Writes no more.
  void (*find_projected)(const ProjectedLine& line, std::uint32_t first, std::size_t count,
                         std::uint32_t* offsets, std::uint32_t* shares);
  // Mixes four pixels of three channels each for every place: MixedValue() in
  // format/pixels/steps/shared.inc.h. Reads eight bytes from each offset on, and of the line after.
  void (*mix_rgb)(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                  const std::uint32_t* shares, std::size_t count, std::uint8_t* out);
  // The same for one channel. Reads two bytes from each offset on, and of the line after.
  void (*mix_grey)(const std::uint8_t* in, std::size_t stride, const std::uint32_t* offsets,
                   const std::uint32_t* shares, std::size_t count, std::uint8_t* out);
  // The highest bytes of the four random words of each of `blocks` counters: `counter`, and those
  // after it, which differ in their first word (format/random.h).
  void (*make_noise)(std::uint64_t key, const std::uint32_t* counter, std::size_t blocks,
                     std::uint8_t* out);
  // out[i] = values[i] * scales[i % kFloatRun] + offsets[i % kFloatRun], each rounded.
  void (*to_floats)(const std::uint8_t* values, std::size_t count, const float* scales,
                    const float* offsets, float* out);
  // Like to_floats, rounded once more to 16 bits: the nearest, ties to even. No number may be NaN.
  void (*to_halves)(const std::uint8_t* values, std::size_t count, const float* scales,
                    const float* offsets, std::uint16_t* out);  // IEEE 754 binary16
  void (*to_bfloats)(const std::uint8_t* values, std::size_t count, const float* scales,
                     const float* offsets, std::uint16_t* out);
  // Whether to_halves and to_bfloats are faster than a table of the 256 values' numbers.
  bool rounds_fast;
  // Whether split_rgb and join_rgb cost little, next to a step.
  bool splits_fast;
};

// An instruction set's kernels.
struct Kernels : JpegKernels, PackedKernels, TiledKernels, LineKernels, StepKernels {
  const char* name;
};

// The best set that this machine has, or the one the environment forces.
const Kernels& Chosen() noexcept;

// Every set that this build has and this machine can run, the plain one first. For tests and
// benchmarks.
struct KernelList {
  const Kernels* sets[4];
  std::size_t count;
};
KernelList Available() noexcept;

}  // namespace sluice::kernels
