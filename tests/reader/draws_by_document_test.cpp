// The random draws of transforms are those of reader/DRAWS.md: a script that implements that page
// alone (draws_by_document.py) computed the expected values.
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <sluice/parse_pipeline.h>

#include "reader/transform/annotations.h"
#include "reader/transform/batch_mix.h"
#include "reader/transform/geometry.h"
#include "reader/transform/pixel_program.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

struct DocumentedDraws {
  const char* text;  // of the pipeline; of steps that mix a batch, alpha and the probability
  std::uint32_t width, height;
  std::uint64_t seed, epoch;
  std::uint16_t view;
  std::uint64_t digest;  // FNV-1a, by words of 64 bits
  std::vector<std::uint64_t> first;
};

const std::vector<DocumentedDraws>& AllDocumentedDraws() {
  static const std::vector<DocumentedDraws> all = {
#include "tests/reader/draws_by_document.inc"
  };
  return all;
}

constexpr std::uint64_t kPositions = 64;

// In 65536ths, since the page does not fix how maps are rounded.
std::uint64_t Fixed(double value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(value * 65536 + 0.5)));
}

using Words64 = std::vector<std::uint64_t>;

void AddFrame(const Frame& frame, std::uint32_t width, std::uint32_t height, Words64& words) {
  const PointMap map(frame, width, height);
  Projection m = map.map;
  const double w0 = m.affine() ? 1 : m.w0;
  const bool shown = frame.region.x.out > 0 && frame.region.y.out > 0;
  words.insert(words.end(), {map.target_width, map.target_height});
  for (const double number : {m.xx, m.xy, m.x0, m.yx, m.yy, m.y0})
    words.push_back(shown ? Fixed(number / w0) : 0);
  if (!m.affine()) words.insert(words.end(), {Fixed(m.wx / w0 * 4096), Fixed(m.wy / w0 * 4096)});
  if (frame.warped) return;
  for (const double edge : {map.shown.left, map.shown.top, map.shown.right, map.shown.bottom})
    words.push_back(shown ? static_cast<std::uint64_t>(edge + 1e-6) : 0);
}

// The script has the operations in the order of PixelOpKind; both warps are the last.
void AddOperation(const PixelOp* op, Words64& words) {
  const bool warp = op->kind >= PixelOpKind::kWarpNearest;
  const auto kind = warp ? PixelOpKind::kWarpNearest : op->kind;
  words.push_back(static_cast<std::uint64_t>(kind) -
                  static_cast<std::uint64_t>(PixelOpKind::kBrightness));
  switch (kind) {
    case PixelOpKind::kBrightness:
    case PixelOpKind::kContrast:
    case PixelOpKind::kSaturation:
    case PixelOpKind::kHue:
    case PixelOpKind::kSharpen:
      words.push_back(std::bit_cast<std::uint64_t>(double{op->factor}));
      break;
    case PixelOpKind::kHsv:
      for (const float number : {op->factor, SaturationOf(*op), ValueOf(*op)})
        words.push_back(std::bit_cast<std::uint64_t>(double{number}));
      break;
    case PixelOpKind::kExchange:
    case PixelOpKind::kSolarize:
    case PixelOpKind::kPosterize: words.push_back(op->number); break;
    case PixelOpKind::kErase:
    case PixelOpKind::kNoise:
      words.insert(words.end(), {op->left, op->top, op->width, op->height});
      if (kind == PixelOpKind::kNoise) {
        RandomStream noise(
            RandomStream::Place{Word64Of(op, 0),
                                {WordOf(op, 2), WordOf(op, 3), WordOf(op, 4), WordOf(op, 5)},
                                op->number});
        for (int i = 0; i < 5; ++i)
          words.push_back(noise.Word() >> 24);
      }
      break;
    case PixelOpKind::kBlur:
      words.push_back(op->number);
      for (std::uint32_t tap = 0; tap <= op->number / 2; ++tap)
        words.push_back(WeightOf(op, tap));
      break;
    case PixelOpKind::kWarpNearest:
      for (std::uint32_t i = 0; i < 6; ++i)
        words.push_back(Fixed(std::bit_cast<double>(Word64Of(op, 2 * i))));
      break;
    default: break;
  }
}

// What the pipeline draws for a position.
void AddDraws(const Geometry& geometry, const PixelProgram& program, const DocumentedDraws& of,
              std::uint64_t position, Words64& words) {
  const std::uint64_t seed = DrawSeed(of.seed, of.epoch, of.view);
  PictureBoxes boxes{{{10, 20, 60, 90}, {100, 30, 140, 60}, {5, 5, 300, 200}}, {0, 0, 0}};
  // Of a mosaic, each position has another part.
  const auto part = static_cast<std::uint16_t>(position % geometry.parts(0));
  const std::size_t stage = geometry.RowStage(0, seed, position);
  const Frame frame = geometry.FrameFor(of.width, of.height, seed, position, stage, &boxes, part);
  AddFrame(frame, of.width, of.height, words);
  std::vector<PixelOp> ops(PixelProgram::kMaxDeviceOps + 1);
  program.DrawOps({nullptr, frame.region.width(), frame.region.height(), 3}, seed, position, ops,
                  stage);
  for (const PixelOp* op = ops.data(); op->kind != PixelOpKind::kEnd; ++op)
    if (op->kind != PixelOpKind::kWords) AddOperation(op, words);
}

// MixUp and CutMix of a batch of two images: one black, one white.
void AddMix(bool cut, double alpha, double probability, const DocumentedDraws& of,
            std::uint64_t position, Words64& words) {
  const std::size_t pixels = std::size_t{of.width} * of.height;
  std::vector<std::uint8_t> batch(pixels), saved;
  batch.resize(2 * pixels, 255);
  ImageBatch shape;
  shape.samples = 2;
  shape.width = of.width;
  shape.height = of.height;
  shape.channels = 1;
  const MixStep step{cut ? MixKind::kCut : MixKind::kBlend, alpha, probability,
                     static_cast<std::uint16_t>(cut ? 2 : 1)};
  RandomStream draws = DrawsOf(step, DrawSeed(of.seed, of.epoch), position);
  const bool mixed = IsMixed(step, draws);
  words.push_back(mixed ? 1 : 0);
  if (!mixed) return;
  const MixDraw draw = DrawMix(step, of.width, of.height, draws);
  words.push_back(std::bit_cast<std::uint64_t>(draw.share));
  if (!cut) return;
  MixImages(batch.data(), shape, draw, saved);
  std::size_t left = of.width, top = of.height, right = 0, bottom = 0;
  for (std::size_t i = 0; i < pixels; ++i) {
    if (batch[i] == 0) continue;
    left = std::min(left, i % of.width);
    top = std::min(top, i / of.width);
    right = std::max(right, i % of.width + 1);
    bottom = std::max(bottom, i / of.width + 1);
  }
  if (right == 0) left = top = 0;  // the rectangle has no pixel
  words.insert(words.end(), {left, top, right, bottom});
}

// The objects that CopyPaste pastes of a partner that has as many as the position's last digit.
void AddPaste(double probability, const DocumentedDraws& of, std::uint64_t position,
              Words64& words) {
  const MixStep step{MixKind::kPaste, 1, probability, 3};
  RandomStream draws = DrawsOf(step, DrawSeed(of.seed, of.epoch), position);
  const bool mixed = IsMixed(step, draws);
  words.push_back(mixed ? 1 : 0);
  if (!mixed) return;
  const std::vector<std::size_t> chosen = DrawObjects(position % 10, draws);
  words.push_back(chosen.size());
  words.insert(words.end(), chosen.begin(), chosen.end());
}

void RequireDocumentedDraws(const DocumentedDraws& of, const Words64& words) {
  INFO(of.text << " of " << of.width << "x" << of.height);
  REQUIRE(words.size() >= of.first.size());
  for (std::size_t i = 0; i < of.first.size(); ++i)
    CHECK(words[i] == of.first[i]);
  std::uint64_t digest = 14695981039346656037U;
  for (const std::uint64_t word : words)
    digest = (digest ^ word) * 1099511628211U;
  CHECK(digest == of.digest);
}

}  // namespace

TEST_CASE("The draws of steps are those of DRAWS.md") {
  std::size_t compared = 0;
  for (const DocumentedDraws& documented : AllDocumentedDraws()) {
    Words64 words;
    if (double alpha = 0, probability = 0;
        std::sscanf(documented.text, "%lf %lf", &alpha, &probability) == 2) {
      for (std::uint64_t position = 0; position < kPositions; ++position)
        for (const bool cut : {false, true})
          AddMix(cut, alpha, probability, documented, position, words);
    } else {
      const Pipeline pipeline = ParsePipeline(documented.text);
      if (const auto* const paste = std::get_if<CopyPaste>(&pipeline[0])) {
        for (std::uint64_t position = 0; position < kPositions; ++position)
          AddPaste(paste->probability, documented, position, words);
        RequireDocumentedDraws(documented, words);
        ++compared;
        continue;
      }
      const Geometry geometry(pipeline);
      const PixelProgram program(pipeline, DevicePart::kSteps);
      for (std::uint64_t position = 0; position < kPositions; ++position)
        AddDraws(geometry, program, documented, position, words);
      AddDraws(geometry, program, documented, (std::uint64_t{1} << 40) + 3, words);
    }
    RequireDocumentedDraws(documented, words);
    ++compared;
  }
  CHECK(compared == 52);
}
