#include "bench/report/plot.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/html.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::Format;
using cli::HtmlEscaped;

constexpr double kWidth = 760;
constexpr double kLetter = 7.2;  // average width of a letter, rounded up a little

std::string Text(double x, double y, const std::string& anchor, const std::string& text) {
  return Format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor.c_str()) +
         HtmlEscaped(text) + "</text>\n";
}

std::string Rule(double x1, double y1, double x2, double y2, const char* kind) {
  return Format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1,
                x2, y2, kind);
}

std::string Svg(double height, const std::string& body) {
  return Format("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", kWidth, height) + body +
         "</svg>\n";
}

std::string Number(double value) {
  return value >= 1000 ? Format("%.0f", value) : Format("%.3g", value);
}

// The colour of `kind`: its place in `kinds`, in order of appearance; pages have eight colours.
std::size_t ColourOf(std::vector<std::string>& kinds, const std::string& kind) {
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found != kinds.end()) return static_cast<std::size_t>(found - kinds.begin()) % 8;
  kinds.push_back(kind);
  return (kinds.size() - 1) % 8;
}

std::string Legend(const std::vector<std::string>& kinds, double x, double y) {
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    text += Format("<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" class=\"c%zu\"/>\n", x,
                   y - 10, i % 8);
    text += Text(x + 16, y, "start", kinds[i]);
    x += 40 + kLetter * static_cast<double>(kinds[i].size());
  }
  return text;
}

}  // namespace

double AxisStep(double most, int count) {
  if (!(most > 0)) return 1;
  const double rough = most / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string BarPlot(const std::string& unit, const std::vector<Bar>& bars) {
  constexpr double kLeft = 170, kRow = 26, kGap = 8;
  double most = 0, right = 0;
  std::vector<std::string> values;
  for (const Bar& bar : bars) {
    most = std::max({most, bar.value, bar.most});
    values.push_back(Number(bar.value) + " " + unit + (bar.note.empty() ? "" : "  " + bar.note));
    right = std::max(right, kGap + kLetter * static_cast<double>(values.back().size()));
  }
  const double scale = most > 0 ? (kWidth - kLeft - right) / most : 0;
  std::string body;
  double y = 4;
  auto value = values.begin();
  for (const Bar& bar : bars) {
    body += Text(kLeft - kGap, y + 16, "end", bar.label);
    body += Format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"18\" class=\"%s\"/>\n",
                   kLeft, y + 2, std::max(bar.value * scale, 0.5), bar.own ? "c0" : "other");
    double end = bar.value;
    if (bar.most > bar.least) {
      body += Rule(kLeft + bar.least * scale, y + 11, kLeft + bar.most * scale, y + 11, "whisker");
      body += Rule(kLeft + bar.least * scale, y + 7, kLeft + bar.least * scale, y + 15, "whisker");
      body += Rule(kLeft + bar.most * scale, y + 7, kLeft + bar.most * scale, y + 15, "whisker");
      end = std::max(end, bar.most);
    }
    body += Text(kLeft + end * scale + kGap, y + 16, "start", *value++);
    y += kRow;
  }
  return Svg(y + 4, body);
}

std::string LinePlot(const std::string& x_title, const std::string& y_title,
                     const std::vector<Line>& lines) {
  constexpr double kHeight = 300, kLeft = 70, kRight = 20, kTop = 30, kBottom = 44;
  double most_x = 0, most_y = 0;
  for (const Line& line : lines) {
    for (const double x : line.x)
      most_x = std::max(most_x, x);
    for (const double y : line.y)
      most_y = std::max(most_y, y);
  }
  const double step_x = AxisStep(most_x, 8), step_y = AxisStep(most_y, 5);
  const double end_x = std::max(most_x, 1e-12), end_y = step_y * std::ceil(most_y / step_y + 1e-9);
  const auto at_x = [&](double x) { return kLeft + x / end_x * (kWidth - kLeft - kRight); };
  const auto at_y = [&](double y) {
    return kHeight - kBottom - y / end_y * (kHeight - kTop - kBottom);
  };
  std::string body;
  for (double y = 0; y <= end_y * 1.0001; y += step_y) {
    body += Rule(kLeft, at_y(y), kWidth - kRight, at_y(y), "grid");
    body += Text(kLeft - 8, at_y(y) + 4, "end", Number(y));
  }
  for (double x = 0; x <= end_x * 1.0001; x += step_x)
    body += Text(at_x(x), kHeight - kBottom + 18, "middle", Number(x));
  body += Text((kLeft + kWidth - kRight) / 2, kHeight - 6, "middle", x_title);
  std::vector<std::string> kinds;
  for (const Line& line : lines) {
    const std::size_t colour = ColourOf(kinds, line.label);
    std::string points;
    for (std::size_t i = 0; i < line.x.size(); ++i)
      points += Format("%.1f,%.1f ", at_x(line.x[i]), at_y(line.y[i]));
    body += Format("<polyline points=\"%s\" class=\"l%zu%s\"/>\n", points.c_str(), colour,
                   line.dashed ? " thin" : "");
    for (std::size_t i = 0; line.points && i < line.x.size(); ++i) {
      body += Format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"c%zu\"/>\n", at_x(line.x[i]),
                     at_y(line.y[i]), colour);
    }
  }
  body += Text(kLeft - 60, 16, "start", y_title);
  body += Legend(kinds, kLeft + 130, 16);
  return Svg(kHeight, body);
}

std::string TimelinePlot(const std::vector<Span>& spans) {
  constexpr double kLeft = 90, kRight = 16, kRow = 22, kTop = 26;
  std::vector<std::string> lanes, kinds;
  double end = 0;
  for (const Span& span : spans) {
    end = std::max(end, span.end);
    if (std::find(lanes.begin(), lanes.end(), span.lane) == lanes.end()) lanes.push_back(span.lane);
  }
  const double scale = end > 0 ? (kWidth - kLeft - kRight) / end : 0;
  const double bottom = kTop + kRow * static_cast<double>(lanes.size());
  std::string body;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    body += Text(kLeft - 8, kTop + kRow * static_cast<double>(i) + 15, "end", lanes[i]);
  const double step = AxisStep(1e3 * end, 10);
  for (double x = 0; x <= 1e3 * end; x += step) {
    body += Rule(kLeft + 1e-3 * x * scale, kTop, kLeft + 1e-3 * x * scale, bottom, "grid");
    body +=
        Text(kLeft + 1e-3 * x * scale, bottom + 16, "middle", Number(x) + (x == 0 ? " ms" : ""));
  }
  for (const Span& span : spans) {
    const auto lane = std::find(lanes.begin(), lanes.end(), span.lane) - lanes.begin();
    const std::size_t colour = ColourOf(kinds, span.kind);
    body +=
        Format("<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" class=\"c%zu\"><title>",
               kLeft + span.begin * scale, kTop + kRow * static_cast<double>(lane) + 2,
               std::max((span.end - span.begin) * scale - 0.2, 0.2), kRow - 4, colour) +
        HtmlEscaped(span.title) + "</title></rect>\n";
  }
  return Svg(bottom + 24, Legend(kinds, kLeft, 14) + body);
}

}  // namespace sluice::bench
