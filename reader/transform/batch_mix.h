// Mixes the samples of a batch, each with the one before it (the first with the last).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sluice/batch.h>
#include <sluice/transform.h>

#include "format/random.h"

namespace sluice {

// A draw from Beta(alpha, alpha), 0 < alpha <= 100; the same on every machine.
double DrawBeta(double alpha, RandomStream& draws) noexcept;

struct CutRectangle {
  std::size_t left = 0, top = 0, width = 0, height = 0;
};
// Draws a rectangle of (1 - lambda) of the picture's area and of its aspect ratio, centred anywhere
// and cut off at the edges.
CutRectangle DrawCut(double lambda, std::size_t width, std::size_t height,
                     RandomStream& draws) noexcept;

// How a row is mixed with its partner.
struct MixDraw {
  double share = 1;  // of its own label that the row keeps
  std::optional<CutRectangle>
      cut;  // the partner's pixels replace those in here; else all are mixed
};
// Mixes an image of that shape with its partner. Integers are rounded.
void MixImage(std::uint8_t* own, const std::uint8_t* partner, const ImageBatch& shape,
              const MixDraw& draw);
// Replaces the pixels that `covered` has 1 for, line by line, by the partner's.
void PasteImage(std::uint8_t* own, const std::uint8_t* partner, const ImageBatch& shape,
                std::span<const std::uint8_t> covered);
// Mirrors an image of that shape left-right.
void MirrorImage(std::uint8_t* image, const ImageBatch& shape);
// Mixes the shape.samples images at `data`. `saved` is scratch memory.
void MixImages(std::uint8_t* data, const ImageBatch& shape, const MixDraw& draw,
               std::vector<std::uint8_t>& saved);
// own = share x own + (1 - share) x partner, for `count` numbers.
void MixNumbers(float* own, const float* partner, std::size_t count, double share);
// Mixes `rows` rows of `count` numbers each.
void MixNumbers(float* numbers, std::size_t rows, std::size_t count, double share,
                std::vector<std::uint8_t>& saved);

enum class MixKind : std::uint8_t { kBlend, kCut, kPaste };  // MixUp, CutMix, CopyPaste
struct MixStep {
  MixKind kind = MixKind::kBlend;
  double alpha = 1, probability = 1;
  std::uint16_t stream = 0;  // of its draws; see BatchProgram::AddMix()
  bool flip = false;         // CopyPaste::flip
};
// How the step mixes; empty for a step that does not mix batches.
std::optional<MixStep> MixStepOf(const Transform& step) noexcept;
// The stream for the draws of a batch whose first row has that position, or of a row that has it.
RandomStream DrawsOf(const MixStep& step, std::uint64_t draw_seed, std::uint64_t position) noexcept;
// Whether a batch or row is mixed: the first draw.
inline bool IsMixed(const MixStep& step, RandomStream& draws) noexcept {
  return draws.Uniform() < step.probability;
}
// CopyPaste: draws which of the partner's objects are pasted. Their numbers ascend.
std::vector<std::size_t> DrawObjects(std::size_t objects, RandomStream& draws);
// Draws how images of that size are blended or cut.
MixDraw DrawMix(const MixStep& step, std::size_t width, std::size_t height,
                RandomStream& draws) noexcept;

}  // namespace sluice
