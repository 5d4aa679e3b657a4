// Mixes the samples of a batch, each with the one before it (the first with the last).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

// Mixes the shape.samples images at `data`. Integers are rounded. `saved` is scratch memory.
void MixImages(std::uint8_t* data, const ImageBatch& shape, double lambda,
               std::vector<std::uint8_t>& saved);
void CutImages(std::uint8_t* data, const ImageBatch& shape, const CutRectangle& cut,
               std::vector<std::uint8_t>& saved);
// Mixes `rows` rows of `count` numbers each.
void MixNumbers(float* numbers, std::size_t rows, std::size_t count, double lambda,
                std::vector<std::uint8_t>& saved);

// MixUp or, if `cut`, CutMix.
struct MixStep {
  bool cut = false;
  double alpha = 1, probability = 1;
  std::uint16_t stream = 0;  // of its draws; see BatchProgram::AddMix()
};
// How the step mixes; empty for a step that does not mix batches.
std::optional<MixStep> MixStepOf(const Transform& step) noexcept;
// Draws for the batch whose first sample has that position, and mixes its images. Returns the share
// of its own label that each sample keeps, or nothing if the batch is not mixed.
std::optional<double> MixBatch(const MixStep& step, std::uint64_t draw_seed, std::uint64_t position,
                               std::uint8_t* data, const ImageBatch& shape,
                               std::vector<std::uint8_t>& saved);

}  // namespace sluice
