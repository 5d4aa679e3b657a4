// Questions about any step, answered from its declaration (StepOf); and the stages of a pipeline
// that changes with the epoch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sluice/transform.h>

#include "reader/transform/frame.h"

namespace sluice {

// --- Which part of the loader runs the step.

// Whether the step moves pixels. Geometry runs it.
bool IsGeometric(const Transform& step) noexcept;
// Whether the step changes the values of pixels. PixelProgram runs it. False for Normalize:
// PixelProgram runs that, too, but as a part of writing the pixels.
bool ChangesPixels(const Transform& step) noexcept;
// Whether the step draws random numbers.
bool DrawsNumbers(const Transform& step) noexcept;
// Whether the step is for labels or whole batches. BatchProgram runs it.
bool ConcernsBatch(const Transform& step) noexcept;
// How many samples a row shows at most: several with a Mosaic.
std::uint16_t MostPartsOf(const Pipeline& steps) noexcept;

// --- The step's parameters, checked against the limits of its declaration.

// A sentence that says what the step needs and what it has; empty if all is well.
std::string WrongParameter(const Transform& step);
// Throws Error(kInvalidArgument) with that sentence.
void CheckParameters(const Transform& step);

// Whether the step has a colour that is not black.
bool HasColour(const Transform& step);

// --- The step's text, for Loader::Describe().

// The step almost as it is written in C++: "RandomResizedCrop(224, 224, triangle)". Parameters that
// are usually left at their defaults are listed only if they differ.
std::string StepText(const Transform& step);
// A number in that text: the shortest form that reads back exactly.
std::string NumberText(double value);
// The step's name alone.
std::string StepName(const Transform& step);
// Where the step runs: "fused with decoding".
const char* HowItRuns(const Transform& step);

// A step with the members width and height: the size of its result.
template <class Step>
concept FixesExtent = requires(Step& op) {
  op.width;
  op.height;
};

// That size, unless the step is one whose size may be left out (0), and is.
template <class Step>
std::optional<PictureExtent> ExtentOf(const Step& op) {
  if constexpr (FixesExtent<Step>) {
    if (op.width != 0) return PictureExtent{op.width, op.height};
  }
  return std::nullopt;
}

inline std::optional<PictureExtent> ExtentOf(const Mosaic& op) {
  return PictureExtent{2 * op.cell, 2 * op.cell};
}

// The steps with those of all lists of each RandomChoice in its place: the steps that a row may
// have.
Pipeline AllStepsOf(const Pipeline& steps);

// How rows choose their stages by the draws of RandomChoice. The lists that a row may have are
// numbered in the order of the lists; each is a stage of its own.
class RowChoice {
 public:
  // The pipelines that the steps may become, each without a RandomChoice, and the choice among
  // them. Throws Error(kInvalidArgument).
  static RowChoice Of(const Pipeline& steps, std::vector<Pipeline>& pipelines);
  // The number of the row's pipeline. `draw_seed`: of its view.
  std::size_t At(std::uint64_t draw_seed, std::uint64_t position) const;

 private:
  struct Draw {
    std::vector<double> sums;  // of the weights, up to and with each list
    std::vector<std::uint32_t>
        next;  // by list: the next draw, or kPipeline and a pipeline's number
  };
  static constexpr std::uint32_t kPipeline = std::uint32_t{1} << 31;
  std::uint32_t Add(Pipeline steps, std::vector<Pipeline>& pipelines);

  std::vector<Draw> draws_;  // empty if there is one pipeline
};

// The pipelines of one view by epoch: LoaderOptions::transform, with the sizes and the schedule
// that change it. Geometry, PixelProgram and BatchProgram number their stages alike.
struct PipelineStage {
  std::uint64_t epoch = 0;  // the stage's first epoch
  std::uint32_t every = 0;  // OutputSize::every; stages of the same epoch are choices
  Pipeline steps;           // without a RandomChoice
  // The stages from which each row of a batch chooses one, of which this one is the first; 0: it is
  // not the first of them.
  std::size_t choices = 1;
  RowChoice row_choice = {};
  std::optional<PictureExtent> size;  // from LoaderOptions::sizes; `steps` have it already
};

// At least one; the first is for epoch 0. Throws Error(kInvalidArgument) if epochs do not increase,
// and for steps that must not change between epochs.
std::vector<PipelineStage> StagesOf(const Pipeline& transform,
                                    std::span<const OutputSize> sizes = {},
                                    std::span<const ScheduledTransform> schedule = {});

// Whether `holds` is true for the steps of at least one epoch, those of all lists of a RandomChoice
// taken together.
template <class Holds>
bool InAnyEpoch(const Pipeline& transform, std::span<const ScheduledTransform> schedule,
                const Holds& holds) {
  const auto holds_of = [&](const Pipeline& steps) { return holds(AllStepsOf(steps)); };
  return holds_of(transform) ||
         std::ranges::any_of(schedule, holds_of, &ScheduledTransform::transform);
}

}  // namespace sluice
