// What Loader::Describe() says: how each step of the transform will run.
#pragma once

#include <string>

#include <sluice/loader_options.h>

#include "reader/batch/slot_layout.h"
#include "reader/decoding/follow_plan.h"
#include "reader/transform/view_program.h"

namespace sluice {

// `options` are checked ones. A line for each view, each step and each field that moves with an
// image, with a newline at its end.
std::string DescriptionOf(const LoaderOptions& options, const SlotLayout& layout,
                          const std::vector<ViewProgram>& views, const FollowPlan& follow);

}  // namespace sluice
