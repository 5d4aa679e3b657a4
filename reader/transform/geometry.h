// Turns the geometric steps of a pipeline into the frame for each sample's picture.
//
// Each step changes the frame: which part of the picture the pixel grid shows, the size of that
// grid, and how it is mirrored and turned. Pure arithmetic; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sluice/transform.h>

#include "reader/transform/frame.h"
#include "reader/transform/steps.h"

namespace sluice {

class Geometry {
 public:
  // Uses the pipelines' steps that move pixels. `sizes` as in LoaderOptions. Throws
  // Error(kInvalidArgument) for parameters out of range, and for steps that cannot be combined in
  // this order.
  explicit Geometry(const std::vector<PipelineStage>& stages);
  explicit Geometry(const Pipeline& pipeline, std::span<const OutputSize> sizes = {})
      : Geometry(StagesOf(pipeline, sizes)) {}

  using Extent = PictureExtent;
  // The size of the result, if it does not depend on the picture's.
  std::optional<Extent> FixedExtent(std::size_t stage = 0) const noexcept {
    return stages_[stage].fixed;
  }
  // The name of a step that may swap width and height, which must then be equal in a batch. Empty
  // if there is no such step.
  const std::string& swapping_step() const noexcept { return swapping_step_; }
  // The name of a step that adds a second pass. Empty if there is no such step.
  const std::string& warping_step() const noexcept { return warping_step_; }
  // The name of a step that looks at the picture's boxes. Empty if there is no such step.
  const std::string& boxes_step() const noexcept { return boxes_step_; }
  // The name of a step whose draws decide the size of the stage's results. Empty if there is no
  // such step, or if a later step fixes the size.
  const std::string& sizing_step(std::size_t stage) const noexcept {
    return stages_[stage].sizing_step;
  }
  bool empty() const noexcept;  // whether no stage has a step
  // How many samples a row of the stage shows.
  std::uint16_t parts(std::size_t stage) const noexcept { return stages_[stage].parts; }
  const Pipeline& steps(std::size_t stage) const noexcept { return stages_[stage].pipeline; }

  // Steps may change with the epoch, and sizes also with the batch: the number of stages, and the
  // stage of a batch. `draw_seed`: DrawSeed() of the epoch.
  std::size_t stages() const noexcept { return stages_.size(); }
  // `size`: which of the epoch's sizes the batch has; none: it is drawn. Throws
  // Error(kInvalidArgument) if there is no such size.
  std::size_t StageOf(std::uint64_t epoch, std::uint64_t draw_seed, std::uint64_t batch,
                      std::optional<std::uint32_t> size = {}) const;
  // If the steps have a RandomChoice, a batch's stage is the first of several, of which each row
  // has one: the row's stage, and how many there are. `draw_seed`: of the view.
  std::size_t RowStage(std::size_t stage, std::uint64_t draw_seed, std::uint64_t position) const {
    return stage + stages_[stage].row_choice.At(draw_seed, position);
  }
  std::size_t RowStages(std::size_t stage) const noexcept { return stages_[stage].choices; }
  // The stages in that epoch: the first, and how many.
  std::pair<std::size_t, std::size_t> ChoicesIn(std::uint64_t epoch) const noexcept;

  // The frame for a picture of that size. `draw_seed` comes from DrawSeed() below; `position` is
  // the sample's position in the epoch. `boxes`: the picture's, if boxes_step() names a step; which
  // of them it drops is noted there. `part`: which of the row's samples it is.
  Frame FrameFor(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
                 std::uint64_t position, std::size_t stage = 0, PictureBoxes* boxes = nullptr,
                 std::uint16_t part = 0) const;
  // The size of the result for a picture of that size: a bound, if it is drawn.
  Extent SizeFor(const Extent& picture, std::size_t stage, DrawnSize sizes) const;

 private:
  struct Period {             // a stage
    std::uint64_t epoch = 0;  // the period's first epoch
    std::uint32_t every = 0;  // PipelineStage::every
    Pipeline pipeline;
    std::optional<Extent> fixed;
    std::string sizing_step;
    std::uint16_t parts = 1;
    std::size_t choices = 1;  // PipelineStage::choices
    RowChoice row_choice;
  };

  std::vector<Period> stages_;  // at least one
  std::string swapping_step_, warping_step_, boxes_step_;
};

// The seed of all draws of an epoch. Each view has a seed of its own.
std::uint64_t DrawSeed(std::uint64_t seed, std::uint64_t epoch, std::uint16_t view = 0) noexcept;

// The effects that any step may have on the frame, as declared (GeometricStep in frame.h). All are
// false for steps that are not geometric.

// Whether the step only mirrors the picture or turns it by quarters: each pixel keeps its value.
bool Turns(const Transform& step) noexcept;
// Whether the step may swap width and height.
bool SwapsSides(const Transform& step) noexcept;
// Whether the step adds a second pass over the row.
bool Warps(const Transform& step) noexcept;
// Whether the step warps, and the part of the picture that is decoded depends on how.
bool ChoosesRegion(const Transform& step) noexcept;
// Whether the step may show a different part of the picture each time.
bool DrawsPart(const Transform& step) noexcept;

}  // namespace sluice
