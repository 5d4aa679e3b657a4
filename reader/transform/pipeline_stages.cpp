#include "reader/transform/pipeline_stages.h"

#include <algorithm>
#include <set>

#include <sluice/error.h>

#include "reader/transform/step_kind.h"
#include "reader/transform/step_parameters.h"
#include "reader/transform/step_text.h"

namespace sluice {

namespace {

constexpr std::size_t kMostStages = 65536;

// Changes the width and height of the last step that has them, if there is one.
void SetSize(Pipeline& pipeline, const PictureExtent& size) {
  bool set = false;
  for (auto step = pipeline.rbegin(); step != pipeline.rend() && !set; ++step) {
    std::visit(
        [&]<class T>(T& op) {
          if constexpr (FixesExtent<T>) {
            op.width = size.width;
            op.height = size.height;
            set = true;
          }
        },
        *step);
  }
}

// The steps that decide which fields batches have, and of which type.
std::string FixedSteps(const Pipeline& steps) {
  std::string text;
  for (const Transform& step : steps) {
    if (std::holds_alternative<Normalize>(step) || std::holds_alternative<OneHot>(step))
      text += (text.empty() ? "" : ", ") + StepText(step);
  }
  return text.empty() ? "neither" : text;
}

void CheckEpochs(std::span<const OutputSize> sizes, std::span<const ScheduledTransform> schedule) {
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    if (s == 0 ? sizes[s].epoch != 0 : sizes[s].epoch <= sizes[s - 1].epoch) {
      RefuseTransform("LoaderOptions::sizes must begin with epoch 0, and its epochs must increase");
    }
  }
  for (std::size_t s = 0; s < schedule.size(); ++s) {
    if (schedule[s].epoch <= (s == 0 ? 0 : schedule[s - 1].epoch)) {
      RefuseTransform(
          "LoaderOptions::schedule must begin with epoch 1 or later, and its epochs must increase; "
          "the steps from epoch 0 on are LoaderOptions::transform");
    }
  }
}

// The last entry of `list` that has begun in that epoch; null if none has.
template <class Entry>
const Entry* InEpoch(std::span<const Entry> list, std::uint64_t epoch) {
  const auto after = std::upper_bound(
      list.begin(), list.end(), epoch,
      [](std::uint64_t number, const Entry& entry) { return number < entry.epoch; });
  return after == list.begin() ? nullptr : &*(after - 1);
}

}  // namespace

std::vector<PipelineStage> StagesOf(const Pipeline& transform, std::span<const OutputSize> sizes,
                                    std::span<const ScheduledTransform> schedule) {
  CheckEpochs(sizes, schedule);
  std::set<std::uint64_t> epochs = {0};
  for (const OutputSize& size : sizes)
    epochs.insert(size.epoch);
  for (const ScheduledTransform& later : schedule)
    epochs.insert(later.epoch);
  if (epochs.size() > kMostStages)
    RefuseTransform("LoaderOptions::schedule and sizes can change at most 65535 times");
  const std::string fixed = FixedSteps(transform);
  std::vector<PipelineStage> stages;
  for (const std::uint64_t epoch : epochs) {
    const ScheduledTransform* const later = InEpoch(schedule, epoch);
    PipelineStage stage{epoch, later == nullptr ? transform : later->transform, {}};
    if (const std::string here = FixedSteps(stage.steps); here != fixed) {
      RefuseTransform("Normalize and OneHot must be the same in all epochs, and LoaderOptions::" +
                      std::string("transform has ") + fixed + ", but the schedule from epoch " +
                      std::to_string(epoch) + " on has " + here);
    }
    if (const OutputSize* const size = InEpoch(sizes, epoch)) {
      stage.size = {size->width, size->height};
      SetSize(stage.steps, *stage.size);
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

std::vector<ScheduledTransform> Ramp(std::uint64_t begin, std::uint64_t end,
                                     const std::function<Pipeline(double)>& steps) {
  if (begin >= end || end - begin >= kMostStages) {
    throw Error(ErrorCode::kInvalidArgument,
                "Ramp needs begin < end, and at most 65535 epochs between them");
  }
  std::vector<ScheduledTransform> schedule;
  for (std::uint64_t epoch = begin + 1; epoch <= end; ++epoch)
    schedule.push_back({epoch, steps(double(epoch - begin) / double(end - begin))});
  return schedule;
}

bool HasSteps(const Pipeline& transform, std::span<const ScheduledTransform> schedule) noexcept {
  return !transform.empty() ||
         std::any_of(schedule.begin(), schedule.end(),
                     [](const ScheduledTransform& later) { return !later.transform.empty(); });
}

}  // namespace sluice
