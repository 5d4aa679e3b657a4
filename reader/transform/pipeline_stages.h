// The pipelines of one view by epoch: LoaderOptions::transform, with the sizes and the schedule
// that change it. Geometry, PixelProgram and BatchProgram number their stages alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sluice/transform.h>

#include "reader/transform/frame.h"

namespace sluice {

template <class Step>
concept FixesExtent = requires(Step& op) {
  op.width;
  op.height;
};

struct PipelineStage {
  std::uint64_t epoch = 0;  // its first
  Pipeline steps;
  std::optional<PictureExtent> size;  // what LoaderOptions::sizes says, already set in `steps`
};

// At least one; the first is for epoch 0. Throws Error(kInvalidArgument) if epochs do not increase,
// and for steps that must not change between epochs.
std::vector<PipelineStage> StagesOf(const Pipeline& transform,
                                    std::span<const OutputSize> sizes = {},
                                    std::span<const ScheduledTransform> schedule = {});

// Whether any epoch has steps.
bool HasSteps(const Pipeline& transform, std::span<const ScheduledTransform> schedule) noexcept;

}  // namespace sluice
