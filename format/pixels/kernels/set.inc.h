// One instruction set's kernels: the algorithms over its vector operations. The including file
// opens a namespace, includes the set's vector_*.h, lines_*.h and steps_*.h, and names the set in
// SLUICE_SET_NAME.

constexpr std::uint8_t kSpare = 64;  // the spare place, where coefficients beyond a block's end go
// From a block to the next: 64 coefficients and the spare place, rounded up to whole vectors.
constexpr std::size_t kBlockStride = 80;
constexpr std::size_t kSpareBlock = kBlockStride;  // the size of a block with its spare place
constexpr std::size_t kBlockSize = 64;

// In the order of use.
// clang-format off
#include "format/pixels/kernels/idct.inc.h"
#include "format/pixels/kernels/recode.inc.h"
#include "format/pixels/kernels/entropy.inc.h"
#include "format/pixels/kernels/strands.inc.h"
#include "format/pixels/kernels/coding.inc.h"
#include "format/pixels/kernels/fdct.inc.h"
#include "format/pixels/kernels/packed.inc.h"
#include "format/pixels/kernels/tiled.inc.h"
#include "format/pixels/kernels/weights.inc.h"
#include "format/pixels/kernels/steps.inc.h"
// clang-format on

// For more than kManyTaps lines: sums whole products, and cuts off nothing before the end.
inline void SumManyLines(const LineSum& sum, std::size_t count, std::uint8_t* out) {
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
    const std::size_t columns = count - begin < kAtOnce ? count - begin : kAtOnce;
    std::uint32_t total[kAtOnce];
    for (std::uint32_t& one : total)
      one = 32'768;
    const std::uint8_t* line = sum.lines + begin;
    for (std::uint32_t t = 0; t < sum.taps; ++t, line += sum.stride)
      for (std::size_t i = 0; i < columns; ++i)
        total[i] += std::uint32_t{line[i]} * sum.weights[t];
    for (std::size_t i = 0; i < columns; ++i)
      out[begin + i] = static_cast<std::uint8_t>(total[i] >> 24 != 0 ? 255 : total[i] >> 16);
  }
}

// Whole lines are summed by SumLinesOf(), which has the number of taps as a constant (0: any other
// number), and transposed by TransposeTile() in tiles of 16 x 16; lines_*.h has both.
inline void SumLines(const LineSum& sum, std::size_t count, std::uint8_t* out) {
  switch (sum.taps) {
    case 1: return SumLinesOf<1>(sum, count, out);
    case 2: return SumLinesOf<2>(sum, count, out);
    case 3: return SumLinesOf<3>(sum, count, out);
    case 4: return SumLinesOf<4>(sum, count, out);
    case 5: return SumLinesOf<5>(sum, count, out);
    case 6: return SumLinesOf<6>(sum, count, out);
    default:
      return sum.taps > kManyTaps ? SumManyLines(sum, count, out) : SumLinesOf<0>(sum, count, out);
  }
}

inline void Transpose(const std::uint8_t* in, std::size_t in_stride, std::size_t columns,
                      std::size_t rows, std::uint8_t* out, std::size_t out_stride) {
  for (std::size_t x = 0; x < columns; x += 16) {
    for (std::size_t y = 0; y < rows; y += 16) {
      TransposeTile(in + x * in_stride + y, in_stride, out + y * out_stride + x, out_stride);
    }
  }
}

const Kernels kSet = {
    JpegKernels{
        .decode_segment = DecodeSegment,
        .run_strands = RunStrands,
        .strands_pay = kStrandsPay,
        .finish_blocks = FinishBlocks,
        .code_blocks = CodeBlocks,
        .transform_line = TransformLine,
    },
    PackedKernels{
        .find_values = FindValues,
        .unpack_line = UnpackLine,
    },
    TiledKernels{
        .unpack8 = UnpackGroups<std::uint8_t>,
        .unpack16 = UnpackGroups<std::uint16_t>,
        .unpack32 = UnpackGroups<std::uint32_t>,
        .predict8 = AddPredictions<std::uint8_t>,
        .predict16 = AddPredictions<std::uint16_t>,
        .predict32 = AddPredictions<std::uint32_t>,
    },
    LineKernels{
        .make_weights = MakeWeights,
        .sum_lines = SumLines,
        .transpose = Transpose,
        .to_rgb = LineToRgb,
        .to_planes = LineToPlanes,
        .to_ycc = LineToYcc,
        .halve_lines = HalveLines,
        .join_rgb = JoinRgb,
        .split_rgb = SplitRgb,
        .mirror_rgb = MirrorRgb,
    },
    StepKernels{
        .blend_with = BlendWith,
        .blend_lines = BlendLines,
        .saturate = Saturate,
        .sum_grey = SumGrey,
        .turn_hues = TurnHues,
        .change_hsv = ChangeHsv,
        .make_grey = MakeGrey,
        .look_up = LookUp,
        .stretch = Stretch,
        .invert_from = InvertFrom,
        .mask_bits = MaskBits,
        .smooth_line = SmoothLine,
        .widen = Widen,
        .blur_columns = BlurColumns,
        .blur_line = BlurLine,
        .find_places = FindPlaces,
        .find_projected = FindProjected,
        .mix_rgb = MixRgb,
        .mix_grey = MixGrey,
        .make_noise = MakeNoise,
        .to_floats = ToFloats,
        .to_halves = ToHalves,
        .to_bfloats = ToBFloats,
        .rounds_fast = kRoundsFast,
        .splits_fast = kSplitsFast,
    },
    SLUICE_SET_NAME,
};
