// What Loader::Describe() says: how each step of the transform will run.
#pragma once

#include <string>

#include <sluice/loader.h>

#include "reader/pipeline/slot_layout.h"
#include "reader/transform/view_program.h"

namespace sluice {

// `options` are checked ones. A line for each view and each step, with a newline at its end.
std::string DescriptionOf(const LoaderOptions& options, const SlotLayout& layout,
                          const std::vector<ViewProgram>& views);

}  // namespace sluice
