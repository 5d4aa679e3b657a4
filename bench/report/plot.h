// Small plots as inline SVG, for a self-contained page.
#pragma once

#include <string>
#include <vector>

namespace sluice::bench {

struct Bar {
  std::string label;
  double value = 0, least = 0, most = 0;  // the whisker; least == most: none
  std::string note;                       // after the value
  bool own = false;                       // stands out
};
// Horizontal bars from 0 on, one below the other, each with its value in words.
std::string BarPlot(const std::string& unit, const std::vector<Bar>& bars);

struct Line {
  std::string label;
  std::vector<double> x, y;
  bool points = true;  // with marks
  bool dashed = false;
};
// x and y from 0 on.
std::string LinePlot(const std::string& x_title, const std::string& y_title,
                     const std::vector<Line>& lines);

struct Span {
  std::string lane;   // lanes in the order in which they appear
  std::string kind;   // its colour; the legend has each once
  std::string title;  // shown when pointed at
  double begin = 0, end = 0;
};
std::string TimelinePlot(const std::vector<Span>& spans);

// The step for an axis from 0 to at least `most`: 1, 2 or 5 times a power of ten, for about `count`
// steps.
double AxisStep(double most, int count);

}  // namespace sluice::bench
