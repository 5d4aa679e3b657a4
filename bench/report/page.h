// A result as one self-contained page of HTML: style and plots (inline SVG) are in it, and it has
// no script.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace sluice::bench {

// A bar in a drawing of one epoch. `begin` and `end` are in seconds from the first event.
struct TraceBar {
  std::string lane;  // "read ahead", "worker 1", "consumer", "slot 2"
  std::string name;  // "decode", "wait", "train", "decoding", "ready", "held"
  std::uint64_t batch = 0;
  std::uint32_t first_row = 0, rows = 0;  // 0 rows: the whole batch
  double begin = 0, end = 0;
};

// The page for any command's result, with a plot for each kind of figure it has. `bars` (may be
// empty) is an epoch's trace; the page shows its middle.
std::string PageOf(const nlohmann::ordered_json& result, const std::vector<TraceBar>& bars);

struct Bar {
  std::string label;
  double value = 0, least = 0, most = 0;  // a whisker reaches from least to most if they differ
  std::string note;                       // text after the value
  bool own = false;                       // drawn in colour; other bars are grey
};
// Horizontal bars from 0 on, one below the other, each with its value in words.
std::string BarPlot(const std::string& unit, const std::vector<Bar>& bars);

// The step for an axis from 0 to at least `most`: 1, 2 or 5 times a power of ten, for about `count`
// steps.
double AxisStep(double most, int count);

}  // namespace sluice::bench
