// A result as a page: a section for each kind of figure that a result may have, by its keys in the
// JSON, and the plots as SVG written out by hand. If a result lacks a key, its page lacks that
// section, so nothing here depends on which command made the result.
//
// A page is one file without scripts, fonts or links to other files, so it can be sent and opened
// anywhere. Colours are classes of the style sheet, so that one page serves light and dark screens.
// Widths of texts are estimated (kLetter), since nothing here can measure a font. A picture shrinks
// with its letters, so each plot is drawn twice, for wide and for narrow screens, and the style
// sheet shows one of the two.
//
// Below each plot, a sentence says what a good one looks like, and what this one shows.
#include "bench/report/page.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

using cli::Format;
using cli::HtmlEscaped;

struct Line {
  std::string label;
  std::vector<double> x, y;
  bool points = true;  // whether to mark the points
  bool dashed = false;
};

struct Span {
  std::string lane;   // lanes in the order in which they appear
  std::string kind;   // its colour; the legend has each once
  std::string title;  // shown when pointed at
  double begin = 0, end = 0;
};

constexpr double kWide = 760, kNarrow = 360;
constexpr double kLetter = 7.8;  // average width of a letter in a wide font

double WidthOf(const std::string& text) {
  constexpr double kSpare = 6;  // short words may have wide letters only
  return kSpare + kLetter * static_cast<double>(text.size());
}

std::string Text(double x, double y, const std::string& anchor, const std::string& text) {
  return Format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor.c_str()) +
         HtmlEscaped(text) + "</text>\n";
}

std::string Rule(double x1, double y1, double x2, double y2, const char* kind) {
  return Format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1,
                x2, y2, kind);
}

std::string Svg(double width, double height, const std::string& body) {
  return Format("<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
                width == kWide ? "wide" : "narrow", width, height) +
         body + "</svg>\n";
}

template <class Draw>
std::string ForBothWidths(const Draw& draw) {
  return draw(kWide) + draw(kNarrow);
}

// "0.42", "998", "1,630,000"
std::string Number(double value) {
  if (value < 999.5) return Format("%.3g", value);
  std::string digits = Format("%.0f", value);
  for (std::size_t end = digits.size(); end > 3; end -= 3)
    digits.insert(end - 3, ",");
  return digits;
}

// "35 us", "12.5 ms", "0.42 s"
std::string TimeText(double seconds) {
  if (seconds >= 0.1 || seconds <= 0) return cli::SecondsText(seconds);
  return seconds < 999.5e-6 ? Format("%.3g us", 1e6 * seconds) : Format("%.3g ms", 1e3 * seconds);
}

std::string PercentOf(double share) {
  return Format("%.0f%%", 100 * share);
}

// The number of the colour of `kind`: its place in `kinds`, to which a new kind is appended. A page
// has eight colours; a ninth kind gets the first one again.
std::size_t ColourOf(std::vector<std::string>& kinds, const std::string& kind) {
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found != kinds.end()) return static_cast<std::size_t>(found - kinds.begin()) % 8;
  kinds.push_back(kind);
  return (kinds.size() - 1) % 8;
}

constexpr double kLegendRow = 18;

// The kinds from (left, y) on, as lines that end before `right`. `y` becomes that of the last line.
std::string Legend(const std::vector<std::string>& kinds, double left, double right, double& y) {
  std::string text;
  double x = left;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const double width = 16 + WidthOf(kinds[i]);
    if (x > left && x + width > right) {
      x = left;
      y += kLegendRow;
    }
    text += Format("<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" class=\"c%zu\"/>\n", x,
                   y - 10, i % 8);
    text += Text(x + 16, y, "start", kinds[i]);
    x += width + 24;
  }
  return text;
}

}  // namespace

double AxisStep(double most, int count) {
  if (!(most > 0)) return 1;
  const double rough = most / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  // The first of 1, 2 and 5 times a power of ten that gives at most `count` steps.
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

namespace {

// On a wide screen, labels stand before the bars and values after them. On a narrow one, both stand
// above their bar; the value gets a line of its own if it does not fit next to the label.
std::string DrawnBars(double width, const std::vector<Bar>& bars,
                      const std::vector<std::string>& values) {
  constexpr double kGap = 8, kRow = 26, kLine = 18;
  const bool narrow = width == kNarrow;
  double most = 0, left = 0, right = 0;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    most = std::max({most, bars[i].value, bars[i].most});
    left = std::max(left, WidthOf(bars[i].label) + kGap);
    right = std::max(right, WidthOf(values[i]) + kGap);
  }
  if (narrow) left = right = 0;
  const double scale = most > 0 ? (width - left - right) / most : 0;
  std::string body;
  double y = 4;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    if (narrow) {
      body += Text(0, y + 12, "start", bar.label);
      if (WidthOf(bar.label) + WidthOf(values[i]) > width) y += kLine;
      body += Text(width, y + 12, "end", values[i]);
      y += kLine;
    } else {
      body += Text(left - kGap, y + 16, "end", bar.label);
      body += Text(left + std::max(bar.value, bar.most) * scale + kGap, y + 16, "start", values[i]);
    }
    body += Format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"18\" class=\"%s\"/>\n",
                   left, y + 2, std::max(bar.value * scale, 0.5), bar.own ? "c0" : "other");
    if (bar.most > bar.least) {
      const double begin = left + bar.least * scale, end = left + bar.most * scale;
      body += Rule(begin, y + 11, end, y + 11, "whisker");
      body += Rule(begin, y + 7, begin, y + 15, "whisker");
      body += Rule(end, y + 7, end, y + 15, "whisker");
    }
    y += narrow ? kRow + 6 : kRow;
  }
  return Svg(width, y + 4, body);
}

}  // namespace

std::string BarPlot(const std::string& unit, const std::vector<Bar>& bars) {
  std::vector<std::string> values;
  for (const Bar& bar : bars)
    values.push_back(Number(bar.value) + " " + unit + (bar.note.empty() ? "" : "  " + bar.note));
  return ForBothWidths([&](double width) { return DrawnBars(width, bars, values); });
}

namespace {

// A plot of lines; both axes begin at 0.
std::string DrawnLines(double width, const std::string& x_title, const std::string& y_title,
                       const std::vector<Line>& lines) {
  constexpr double kRight = 28, kPlot = 226, kBottom = 44;
  const bool narrow = width == kNarrow;
  double most_x = 0, most_y = 0;
  std::vector<std::string> kinds;
  for (const Line& line : lines) {
    ColourOf(kinds, line.label);
    for (const double x : line.x)
      most_x = std::max(most_x, x);
    for (const double y : line.y)
      most_y = std::max(most_y, y);
  }
  std::string body = Text(10, 16, "start", y_title);
  double top = narrow ? 16 + kLegendRow : 16;  // of the legend, then of the plot
  body += Legend(kinds, narrow ? 10 : 40 + WidthOf(y_title), width, top);
  top += 14;
  const double bottom = top + kPlot, height = bottom + kBottom, right = width - kRight;
  const double step_x = AxisStep(most_x, narrow ? 4 : 8), step_y = AxisStep(most_y, 5);
  // Never 0: all coordinates are divided by them.
  const double end_x = std::max(most_x, 1e-12), end_y = step_y * std::ceil(most_y / step_y + 1e-9);
  double left = 0;
  for (double y = 0; y <= end_y * 1.0001; y += step_y)
    left = std::max(left, WidthOf(Number(y)) + 8);
  const auto at_x = [&](double x) { return left + x / end_x * (right - left); };
  const auto at_y = [&](double y) { return bottom - y / end_y * kPlot; };
  for (double y = 0; y <= end_y * 1.0001; y += step_y) {
    body += Rule(left, at_y(y), right, at_y(y), "grid");
    body += Text(left - 8, at_y(y) + 4, "end", Number(y));
  }
  for (double x = 0; x <= end_x * 1.0001; x += step_x)
    body += Text(at_x(x), bottom + 18, "middle", Number(x));
  body += Text((left + right) / 2, height - 6, "middle", x_title);
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
  return Svg(width, height, body);
}

std::string LinePlot(const std::string& x_title, const std::string& y_title,
                     const std::vector<Line>& lines) {
  return ForBothWidths([&](double width) { return DrawnLines(width, x_title, y_title, lines); });
}

// The spans of a lane must lie next to each other, in the order of time.
std::string DrawnTimeline(double width, const std::vector<Span>& spans) {
  constexpr double kLeft = 94, kRight = 28, kRow = 22;
  constexpr double kLeastBar = 3;  // as wide as a short bar may be drawn, where nothing follows it
  std::vector<std::string> lanes, kinds;
  double end = 0;
  for (const Span& span : spans) {
    end = std::max(end, span.end);
    ColourOf(kinds, span.kind);
    if (lanes.empty() || lanes.back() != span.lane) lanes.push_back(span.lane);
  }
  double top = 14;  // of the legend, then of the lanes
  std::string body = Legend(kinds, width == kNarrow ? 10 : kLeft, width, top);
  top += 12;
  const double scale = end > 0 ? (width - kLeft - kRight) / end : 0;
  const double bottom = top + kRow * static_cast<double>(lanes.size());
  for (std::size_t i = 0; i < lanes.size(); ++i)
    body += Text(kLeft - 8, top + kRow * static_cast<double>(i) + 15, "end", lanes[i]);
  const bool long_time = end >= 10;  // seconds
  const double unit = long_time ? 1 : 1e-3;
  const double step = AxisStep(end / unit, width == kNarrow ? 4 : 10);
  for (double x = 0; x <= end / unit; x += step) {
    const double at = kLeft + x * unit * scale;
    body += Rule(at, top, at, bottom, "grid");
    body += Text(at, bottom + 16, "middle", Number(x) + (x > 0 ? "" : long_time ? " s" : " ms"));
  }
  std::size_t lane = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    if (i > 0 && span.lane != spans[i - 1].lane) ++lane;
    const bool last = i + 1 == spans.size() || spans[i + 1].lane != span.lane;
    const double room = ((last ? end : spans[i + 1].begin) - span.begin) * scale;
    // Narrower by a hair, so that neighbours of one colour can be told apart. A short bar is wider
    // than its time if nothing follows it at once, or nobody would see the reading ahead.
    const double shown =
        std::max({(span.end - span.begin) * scale - 0.2, std::min(kLeastBar, room - 0.2), 0.2});
    body +=
        Format("<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" class=\"c%zu\"><title>",
               kLeft + span.begin * scale, top + kRow * static_cast<double>(lane) + 2, shown,
               kRow - 4, ColourOf(kinds, span.kind));
    body += HtmlEscaped(span.title) + "</title></rect>\n";
  }
  return Svg(width, bottom + 24, body);
}

std::string TimelinePlot(const std::vector<Span>& spans) {
  return ForBothWidths([&](double width) { return DrawnTimeline(width, spans); });
}

using Json = nlohmann::ordered_json;

constexpr const char* kStyle = R"(
:root { --text: #1d2430; --dim: #5d6675; --line: #d9dde4; --back: #ffffff; --plain: #b9c1cd; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e8ee; --dim: #9aa4b2; --line: #333b47; --back: #14181e; --plain: #56606f; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
  max-width: 800px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; }
p.dim, caption { color: var(--dim); text-align: left; }
p.warning { border-left: 4px solid #d98a00; padding-left: .7rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .5rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
td { white-space: nowrap; }
td:first-child, td.text { white-space: normal; }
td.text { overflow-wrap: anywhere; min-width: 9em; }
svg { width: 100%; height: auto; display: block; overflow: visible; }
svg.narrow { display: none; }
.scroll { overflow-x: auto; }
@media (max-width: 480px) {
  svg.wide { display: none; }
  svg.narrow { display: block; }
  th, td { padding: .2rem .3rem; font-size: 13px; }
}
svg text { font-size: 12px; fill: var(--text); }
.grid { stroke: var(--line); stroke-width: 1; }
.whisker { stroke: var(--text); stroke-width: 1.5; }
.other { fill: var(--plain); }
polyline { fill: none; stroke-width: 2.2; }
polyline.thin { stroke-width: 1.4; stroke-dasharray: 5 4; }
)";

// Distinct for most kinds of colour blindness, on light and dark backgrounds.
constexpr const char* kColours[] = {"#2f7ed8", "#e07b00", "#2a9d6f", "#c2456b",
                                    "#8f63c9", "#8a7a1f", "#1fa3b8", "#7a828e"};

std::string Style() {
  std::string style = kStyle;
  for (std::size_t i = 0; i < 8; ++i) {
    style += Format(".c%zu { fill: %s; } .l%zu { stroke: %s; }\n", i, kColours[i], i, kColours[i]);
  }
  return style;
}

std::string Heading(const std::string& title, const std::string& explanation) {
  return "<h2>" + HtmlEscaped(title) + "</h2>\n<p class=\"dim\">" + HtmlEscaped(explanation) +
         "</p>\n";
}

// The sentence below a plot.
std::string Said(const std::string& sentence) {
  return "<p>" + HtmlEscaped(sentence) + "</p>\n";
}

std::string TableHtml(const std::string& title, const TextTable& table) {
  return "<h2>" + title + "</h2>\n<div class=\"scroll\">\n" + table.Html() + "</div>\n";
}

Bar BarOf(const std::string& label, const std::vector<double>& values, bool own) {
  const Spread spread = SpreadOf(values);
  return {label, spread.median, spread.least, spread.most, "", own};
}

std::string WarmAndCold(const std::vector<Measurement>& measurements) {
  std::vector<Bar> bars;
  for (const Measurement& one : measurements) {
    if (one.name == "images_per_second") bars.push_back(BarOf("warm", one.values, true));
    if (one.name == "cold_images_per_second") bars.push_back(BarOf("cold", one.values, false));
  }
  if (bars.empty()) return "";
  const Bar& warm = bars.front();
  std::string said = Format("A long bar with a short whisker is good. Here the epochs differ by %s",
                            PercentOf((warm.most - warm.least) / warm.value).c_str());
  if (bars.size() > 1) {
    said += Format(", and with a cold cache the rate is %s of the warm one",
                   PercentOf(bars.back().value / warm.value).c_str());
  }
  return Heading("Throughput",
                 "Median of the epochs; the whisker reaches from the slowest to the "
                 "fastest.") +
         BarPlot("images/s", bars) + Said(said + ".");
}

// How the loader that the page is about compares with the others; `bars` from the fastest on.
std::string Standing(const std::vector<Bar>& bars) {
  const auto own = std::ranges::find_if(bars, &Bar::own);
  std::string said = "A long bar is good";
  if (own == bars.end() || bars.size() < 2) return said + ".";
  if (own == bars.begin()) {
    return said + Format(". Here sluice is the fastest: %.2f times the next, %s.",
                         own->value / bars[1].value, bars[1].label.c_str());
  }
  return said + Format(". Here %s is the fastest: %.2f times sluice.", bars[0].label.c_str(),
                       bars[0].value / own->value);
}

std::string Loaders(const Json& result, const std::string& of = "") {
  if (!result.contains("loaders")) return "";
  std::vector<Bar> bars;
  for (const Json& loader : result["loaders"]) {
    if (!loader.contains("images_per_second")) continue;
    Bar bar = BarOf(loader["name"], loader["images_per_second"].get<std::vector<double>>(),
                    loader["name"] == "sluice");
    if (loader.contains("ratio") && !bar.own)
      bar.note = Format("(sluice: %.2fx)", loader["ratio"].get<double>());
    bars.push_back(bar);
  }
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.value > b.value; });
  return Heading(
             "Throughput by loader" + of,
             "Median over rounds, in which the loaders take turns; the whisker reaches from the "
             "slowest round to the fastest. The ratio is the median of the rounds' ratios.") +
         BarPlot("images/s", bars) + Said(Standing(bars));
}

std::string Curve(const Json& result) {
  if (!result.contains("curve")) return "";
  const Json& curve = result["curve"];
  Line measured{"measured", {}, {}, true};
  for (const Json& point : curve["points"]) {
    measured.x.push_back(point["threads"]);
    measured.y.push_back(point["images_per_second"]);
  }
  std::vector<Line> lines = {measured};
  std::string explanation = "Median of the epochs by decoding threads.";
  if (curve.contains("serial_share")) {
    const double serial = curve["serial_share"];
    const double one = curve["one_thread_images_per_second"];
    Line fit{"fit", {}, {}, false, true};
    Line ideal{"no serial part", {}, {}, false, true};
    for (double n = 1; n <= measured.x.back() + 1e-9; n += measured.x.back() / 40) {
      fit.x.push_back(n);
      fit.y.push_back(one / (serial + (1 - serial) / n));
      ideal.x.push_back(n);
      ideal.y.push_back(one * n);
    }
    lines.push_back(fit);
    lines.push_back(ideal);
    explanation += Format(" Fitted serial share: %.1f%%; this process may use %u CPUs.",
                          100 * serial, curve["cpus"].get<unsigned>());
  }
  std::string said = "Good is a line that rises with each thread";
  if (measured.x.size() > 1) {
    said += Format(". Here %.0f threads make %.2f times the images of %.0f", measured.x.back(),
                   measured.y.back() / measured.y.front(), measured.x.front());
  }
  return Heading("Throughput by threads", explanation) +
         LinePlot("decoding threads", "images/s", lines) + Said(said + ".");
}

std::string Accelerators(const Json& result) {
  if (!result.contains("accelerators")) return "";
  std::vector<std::pair<double, double>> points;
  for (const Json& trial : result["accelerators"]["trials"]) {
    if (trial["accelerators"] > 0)
      points.emplace_back(trial["accelerators"], 100 * trial["utilisation"].get<double>());
  }
  std::sort(points.begin(), points.end());
  Line utilisation{"measured", {}, {}, true};
  for (const auto& [n, share] : points) {
    utilisation.x.push_back(n);
    utilisation.y.push_back(share);
  }
  const double wanted = 100 * result["accelerators"]["wanted_utilisation"].get<double>();
  const Line goal{
      "wanted", {0, points.empty() ? 1 : points.back().first}, {wanted, wanted}, false, true};
  const auto fed = result["accelerators"]["fed"].get<std::uint64_t>();
  const std::string here = fed == 0 ? "Here one accelerator already falls below."
                                    : "Here it stays above for up to " +
                                          cli::CountText(fed, "accelerator", "accelerators") + ".";
  return Heading("Accelerators fed",
                 Format("Share of the time in which they compute. This machine feeds %llu.",
                        static_cast<unsigned long long>(fed))) +
         LinePlot("accelerators", "utilisation, %", {utilisation, goal}) +
         Said(Format("Good is a line above %.0f%%. ", wanted) + here);
}

std::string Waits(const Json& result) {
  if (!result.contains("batch_wait_percentiles")) return "";
  Line waits{"waiting for a batch", {}, {}, false};
  int percent = 0;
  for (const Json& seconds : result["batch_wait_percentiles"]) {
    waits.x.push_back(percent++);
    waits.y.push_back(1e3 * seconds.get<double>());
  }
  // Of 101 percentiles, one more than percentages.
  const std::ptrdiff_t prompt =
      std::ranges::count_if(waits.y, [](double milliseconds) { return milliseconds <= 1; });
  return Heading("Batch latency",
                 "Milliseconds from asking for a batch to having it, and the percentage of the "
                 "measured epochs' batches that came within that time.") +
         LinePlot("percent of the batches", "milliseconds", {waits}) +
         Said(Format("Good is a line at the bottom: batches were ready when they were asked for. "
                     "Here %ld%% of them came within 1 ms; the longest wait was %s.",
                     static_cast<long>(std::max<std::ptrdiff_t>(prompt - 1, 0)),
                     TimeText(1e-3 * waits.y.back()).c_str()));
}

std::string Stages(const Json& result) {
  if (!result.contains("stages") || !result.contains("epochs")) return "";
  double images = 0;
  for (const Json& epoch : result["epochs"])
    images += epoch["images"].get<double>();
  std::vector<Bar> bars;
  double pace = 0;  // images a second that the slowest stage can do
  std::string said;
  for (const Json& stage : result["stages"]) {
    const double each = images > 0 ? 1e6 * stage["seconds"].get<double>() / images : 0;
    bars.push_back({stage["name"], each, 0, 0, "", true});
    const Json* largest = nullptr;
    for (const Json& part : stage["parts"]) {
      bars.push_back({part["name"], each * part["share"].get<double>(), 0, 0, "", false});
      if (largest == nullptr || part["share"] > (*largest)["share"]) largest = &part;
    }
    const double threads = std::max(stage["threads"].get<double>(), 1.0);
    if (each <= 0 || (pace > 0 && 1e6 * threads / each >= pace)) continue;
    pace = 1e6 * threads / each;
    said = Format(
        "Short bars are good; the slowest stage limits the rate. Here it is %s: %s can do "
        "%s images/s",
        stage["name"].get<std::string>().c_str(),
        cli::CountText(static_cast<std::uint64_t>(threads), "thread", "threads").c_str(),
        Number(pace).c_str());
    if (largest != nullptr) {
      said +=
          Format(", and the largest part is %s, %s", (*largest)["name"].get<std::string>().c_str(),
                 PercentOf((*largest)["share"].get<double>()).c_str());
    }
  }
  return Heading(
             "Stages",
             "Milliseconds of thread time for 1000 images. Grey are the parts of decoding: from "
             "payloads to rows, with each step of the transform.") +
         BarPlot("ms", bars) + (said.empty() ? "" : Said(said + "."));
}

// The work of the device, the bus and the CPUs.
std::string DeviceTable(const Json& result) {
  if (!result.contains("device_use")) return "";
  const Json& use = result["device_use"];
  TextTable table({"", "<"});
  for (const auto& [name, words] : use["words"].items())
    table.Add({name, words});
  const std::string text = TableHtml("To the device", table);
  const double seconds = use["seconds"], bytes = use["uploaded_bytes"];
  if (!use.contains("bare_copies_bytes_per_second") || seconds <= 0) return text;
  const double copying = use["upload_seconds"], bare = use["bare_copies_bytes_per_second"];
  return text +
         BarPlot("GB/s",
                 {{"bare pinned copies", 1e-9 * bare, 0, 0, "", false},
                  {"while copying", copying > 0 ? 1e-9 * bytes / copying : 0, 0, 0, "", true},
                  {"over all the time", 1e-9 * bytes / seconds, 0, 0, "", true}}) +
         Said(Format(
             "Good is \"while copying\" near \"bare pinned copies\", and \"over all the "
             "time\" far below: the bus has room. Here copying reaches %s of the bare copies, "
             "and the bus was busy %s of the time.",
             PercentOf(copying > 0 && bare > 0 ? bytes / copying / bare : 0).c_str(),
             PercentOf(copying / seconds).c_str()));
}

// A plot of the trace during ten batches around the middle of the epoch.
std::string Timeline(const std::vector<TraceBar>& bars) {
  if (bars.empty()) return "";
  std::uint64_t last = 0;
  for (const TraceBar& bar : bars)
    last = std::max(last, bar.batch);
  const std::uint64_t from = last > 10 ? last / 2 - 5 : 0;
  double begin = 1e300, end = 0;
  for (const TraceBar& bar : bars) {
    if (bar.lane != "consumer" || bar.batch < from || bar.batch >= from + 10) continue;
    begin = std::min(begin, bar.begin);
    end = std::max(end, bar.end);
  }
  std::vector<Span> spans;
  double waited = 0;
  for (const TraceBar& bar : bars) {
    if (bar.end <= begin || bar.begin >= end) continue;
    spans.push_back(
        {bar.lane, bar.name,
         Format("%s, batch %llu: %.3f ms", bar.name.c_str(),
                static_cast<unsigned long long>(bar.batch), 1e3 * (bar.end - bar.begin)),
         std::max(bar.begin, begin) - begin, std::min(bar.end, end) - begin});
    if (bar.name == "wait") waited += spans.back().end - spans.back().begin;
  }
  return Heading(
             "Timeline",
             "What each thread, the consumer and each slot did during some batches in the "
             "middle of the last measured epoch. Point at a bar for its length (a very short one "
             "is drawn wider); --trace FILE has the whole epoch for a trace viewer.") +
         TimelinePlot(spans) +
         Said(
             Format("Good is a consumer that never waits, and slots that are ready before it asks. "
                    "Here it waited for %s of the time shown.",
                    PercentOf(end > begin ? waited / (end - begin) : 0).c_str()));
}

std::string LoadersTable(const Json& result) {
  if (!result.contains("loaders")) return "";
  TextTable table({"loader", "CPU s/1000", "peak memory", "first batch", "convert", "on disk",
                   "PSNR, dB", "<settings"});
  for (const Json& loader : result["loaders"]) {
    const auto bytes = [&](const char* key) {
      return loader.contains(key) ? cli::BytesText(loader[key].get<std::uint64_t>()) : "";
    };
    const auto seconds = [&](const char* key) {
      return loader.contains(key) ? cli::SecondsText(loader[key].get<double>()) : "";
    };
    const double cpu_seconds = loader.value("cpu_seconds_per_1000", 0.0);
    table.Add({loader["name"], cpu_seconds > 0 ? Format("%.3g", cpu_seconds) : "",
               bytes("peak_bytes"), seconds("first_batch_seconds"), seconds("convert_seconds"),
               bytes("bytes_on_disk"),
               loader.contains("psnr_db") ? Format("%.1f", loader["psnr_db"].get<double>()) : "",
               loader.value("missing", loader.value("settings", std::string()))});
  }
  return TableHtml("Loaders", table);
}

// A table of the rates of several comparisons, and then each comparison.
std::string Comparisons(const Json& result) {
  if (!result.contains("comparisons")) return "";
  std::string text;
  std::vector<std::string> headings = {"loader"}, names;
  for (const Json& one : result["comparisons"]) {
    const std::string of = one["source"].get<std::string>() + ", " +
                           cli::CountText(one["threads"].get<std::uint64_t>(), "thread or process",
                                          "threads or processes");
    text += Loaders(one, ": " + of) + LoadersTable(one);
    headings.push_back(of);
    for (const Json& loader : one["loaders"]) {
      const std::string name = loader["name"];
      if (loader.contains("images_per_second") &&
          std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
  TextTable table(headings);
  for (const std::string& name : names) {
    std::vector<std::string> cells = {name};
    for (const Json& one : result["comparisons"]) {
      cells.emplace_back();
      for (const Json& loader : one["loaders"]) {
        if (loader["name"] == name && loader.contains("images_per_second"))
          cells.back() =
              cli::RateText(Median(loader["images_per_second"].get<std::vector<double>>()));
      }
    }
    table.Add(std::move(cells));
  }
  return TableHtml("Images a second, side by side", table) + text;
}

// A name in the JSON as words: "first batch".
std::string WordsOf(std::string name) {
  constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"anonymous_bytes", "memory without files"},
      {"dataset_bytes", "size of the dataset"},
      {"peak_rss_bytes", "peak memory"},
      {"slot_bytes", "ring of batches"}};
  for (const auto& [known, words] : kNames)
    if (name == known) return words;
  for (const char* const unit : {"_bytes", "_seconds", "_ms", "_us"})
    if (name.ends_with(unit)) name.resize(name.rfind('_'));
  std::ranges::replace(name, '_', ' ');
  return name;
}

// A measured value with its unit, as a person reads it: "26.5 MB", "0.42 s".
std::string ValueText(double value, const std::string& unit) {
  if (unit == "B") return cli::BytesText(static_cast<std::uint64_t>(std::max(value, 0.0)));
  if (unit == "B/s") return ValueText(value, "B") + "/s";
  if (unit == "s") return TimeText(value);
  if (unit == "share") return Format("%.1f%%", 100 * value);
  if (unit == "1/s") return Number(value) + "/s";
  return Number(value) + (unit == "1" ? "" : " " + unit);
}

std::string MeasurementsTable(const std::vector<Measurement>& measurements) {
  TextTable table({"", "median", "least", "most", "values"});
  for (const Measurement& one : measurements) {
    const Spread spread = SpreadOf(one.values);
    table.Add({WordsOf(one.name), ValueText(spread.median, one.unit),
               ValueText(spread.least, one.unit), ValueText(spread.most, one.unit),
               std::to_string(one.values.size())});
  }
  return TableHtml("Measurements", table);
}

// A scalar of the JSON as a person reads it; the ending of its name is its unit.
std::string FactText(const std::string& name, const Json& value) {
  constexpr std::pair<std::string_view, const char*> kUnits[] = {
      {"_bytes", "B"}, {"_seconds", "s"}, {"_ms", "ms"}, {"_us", "us"}};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_number()) return "";
  if (name == "seed") return value.dump();  // not a quantity
  for (const auto& [ending, unit] : kUnits)
    if (name.ends_with(ending)) return ValueText(value.get<double>(), unit);
  return Number(value.get<double>());
}

// Settings and machine: every scalar value of the result that no plot or table shows.
std::string Facts(const Json& result) {
  static const std::set<std::string> shown = {"schema", "command", "verdict", "version",
                                              "median_images_per_second"};
  TextTable table({"", "<"});
  for (const Json& values : {result["machine"], result}) {
    for (const auto& [name, value] : values.items()) {
      if (value.is_structured() || shown.contains(name)) continue;
      const std::string text = FactText(name, value);
      if (!text.empty()) table.Add({WordsOf(name), text});
    }
  }
  return TableHtml("Machine and settings", table);
}

}  // namespace

std::string PageOf(const Json& result, const std::vector<TraceBar>& bars) {
  const std::vector<Measurement> measurements = MeasurementsOf(result);
  const std::string title = "sluice-bench " + result.value("command", std::string());
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width\">\n<title>" +
      HtmlEscaped(title) + "</title>\n<style>" + Style() + "</style>\n<h1>" + HtmlEscaped(title) +
      "</h1>\n<p class=\"dim\">" +
      HtmlEscaped(result.value("dataset", result.value("source", std::string()))) + "</p>\n";
  if (result.contains("verdict"))
    page += "<p>" + HtmlEscaped(result["verdict"].get<std::string>()) + ".</p>\n";
  for (const Json& warning : result["warnings"])
    page += "<p class=\"warning\">" + HtmlEscaped(warning.get<std::string>()) + "</p>\n";
  page += Loaders(result) + LoadersTable(result) + Comparisons(result) + WarmAndCold(measurements) +
          Curve(result) + Accelerators(result) + DeviceTable(result) + Stages(result) +
          Waits(result) + Timeline(bars);
  return page + MeasurementsTable(measurements) + Facts(result) + "</html>\n";
}

}  // namespace sluice::bench
