// One instruction set's kernels: the algorithms over its vector operations. The including file
// opens a namespace, includes the set's vector_*.h and lines_*.h, and names the set in
// SLUICE_SET_NAME.

constexpr std::uint8_t kSpare = 64;       // the place of coefficients beyond a block
constexpr std::size_t kBlockStride = 80;  // 64 coefficients and the spare one, whole vectors
constexpr std::size_t kSpareBlock = kBlockStride;
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
#include "format/pixels/kernels/weights.inc.h"
#include "format/pixels/kernels/ycc.inc.h"
#include "format/pixels/kernels/pixel.inc.h"
#include "format/pixels/kernels/steps.inc.h"
// clang-format on

const Kernels kSet = {SLUICE_SET_NAME, DecodeSegment, RunStrands, kStrandsPay,  FinishBlocks,
                      CodeBlocks,      TransformRow,  FindValues, UnpackRow,    MakeWeights,
                      SumLines,        Transpose,     LineToRgb,  LineToPlanes, LineToYcc,
                      HalveLines,      JoinRgb,       SplitRgb,   MirrorRgb,    BlendWith,
                      BlendLines,      SaturateRgb,   SumGreyRgb, TurnHueRgb,   GreyRgb,
                      InvertFrom,      MaskBits,      SmoothLine, BlurColumns,  BlurLine,
                      ToFloats,        ToHalves,      ToBFloats,  kRoundsFast};
