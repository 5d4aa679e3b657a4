// A result as one self-contained page of HTML: style and plots are in it, and it has no script.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/epoch/trace.h"

namespace sluice::bench {

// The page for any command's result, with a plot for each kind of figure it has. `bars` (may be
// empty) is an epoch's trace; the page shows its middle.
std::string PageOf(const nlohmann::ordered_json& result, const std::vector<TraceBar>& bars);

}  // namespace sluice::bench
