// A result as one page of HTML that needs nothing else: style and plots are in it, and it has no
// script.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/epoch/trace.h"

namespace sluice::bench {

// Of any command's result, with a plot for whatever it has figures for. `bars` (which may be empty)
// are an epoch's trace, of which the middle is drawn.
std::string PageOf(const nlohmann::ordered_json& result, const std::vector<TraceBar>& bars);

}  // namespace sluice::bench
