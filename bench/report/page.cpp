// A result as a page: a section for each kind of figure that a result may have, by its keys in the
// JSON, and the plots as SVG written out by hand. If a result lacks a key, its page lacks that
// section, so nothing here depends on which command made the result.
//
// A page is one file without scripts, fonts or links to other files, so it can be sent and opened
// anywhere. Colours are classes of the style sheet, so that one page serves light and dark screens.
// Widths of texts are estimated (kLetter), since nothing here can measure a font.
#include "bench/report/page.h"

#include <algorithm>
#include <cmath>
#include <set>

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

// The number of the colour of `kind`: its place in `kinds`, to which a new kind is appended. A page
// has eight colours; a ninth kind gets the first one again.
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
  // The first of 1, 2 and 5 times a power of ten that gives at most `count` steps.
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

namespace {

// A plot of lines; both axes begin at 0.
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
  // Never 0: all coordinates are divided by them.
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
               // Narrower by a hair, so that neighbours of one colour can be told apart, but never
               // invisible.
               std::max((span.end - span.begin) * scale - 0.2, 0.2), kRow - 4, colour) +
        HtmlEscaped(span.title) + "</title></rect>\n";
  }
  return Svg(bottom + 24, Legend(kinds, kLeft, 14) + body);
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
td.text { overflow-wrap: anywhere; }
svg { width: 100%; height: auto; display: block; }
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
  return Heading("Throughput",
                 "Median of the epochs; the whisker reaches from the slowest to the "
                 "fastest.") +
         BarPlot("images/s", bars);
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
         BarPlot("images/s", bars);
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
  return Heading("Throughput by threads", explanation) +
         LinePlot("decoding threads", "images/s", lines);
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
  return Heading("Accelerators fed",
                 Format("Share of the time in which they compute. This machine feeds %llu.",
                        static_cast<unsigned long long>(
                            result["accelerators"]["fed"].get<std::uint64_t>()))) +
         LinePlot("accelerators", "utilisation, %", {utilisation, goal});
}

std::string Waits(const Json& result) {
  if (!result.contains("batch_wait_percentiles")) return "";
  Line waits{"waiting for a batch", {}, {}, false};
  int percent = 0;
  for (const Json& seconds : result["batch_wait_percentiles"]) {
    waits.x.push_back(percent++);
    waits.y.push_back(1e3 * seconds.get<double>());
  }
  return Heading("Batch latency",
                 "Milliseconds from asking for a batch to having it, and the percentage of the "
                 "measured epochs' batches that came within that time.") +
         LinePlot("percent of the batches", "milliseconds", {waits});
}

std::string Stages(const Json& result) {
  if (!result.contains("stages") || !result.contains("epochs")) return "";
  double images = 0;
  for (const Json& epoch : result["epochs"])
    images += epoch["images"].get<double>();
  std::vector<Bar> bars;
  for (const Json& stage : result["stages"]) {
    const double each = images > 0 ? 1e6 * stage["seconds"].get<double>() / images : 0;
    bars.push_back({stage["name"], each, 0, 0, "", true});
    for (const Json& part : stage["parts"])
      bars.push_back({part["name"], each * part["share"].get<double>(), 0, 0, "", false});
  }
  return Heading("Stages",
                 "Milliseconds of thread time for 1000 images. The parts of decoding (grey) were "
                 "measured on one thread after the epochs.") +
         BarPlot("ms", bars);
}

// The work of the device, the bus and the CPUs.
std::string DeviceTable(const Json& result) {
  if (!result.contains("device_use")) return "";
  const Json& use = result["device_use"];
  TextTable table({"", "<"});
  for (const auto& [name, words] : use["words"].items())
    table.Add({name, words});
  const std::string text = "<h2>To the device</h2>\n" + table.Html();
  const double seconds = use["seconds"], bytes = use["uploaded_bytes"];
  if (!use.contains("bare_copies_bytes_per_second") || seconds <= 0) return text;
  const double copying = use["upload_seconds"], bare = use["bare_copies_bytes_per_second"];
  return text + BarPlot("GB/s", {{"bare pinned copies", 1e-9 * bare, 0, 0, "", false},
                                 {"while copying", copying > 0 ? 1e-9 * bytes / copying : 0, 0, 0,
                                  "", true},
                                 {"over all the time", 1e-9 * bytes / seconds, 0, 0, "", true}});
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
  for (const TraceBar& bar : bars) {
    if (bar.end <= begin || bar.begin >= end) continue;
    spans.push_back(
        {bar.lane, bar.name,
         Format("%s, batch %llu: %.3f ms", bar.name.c_str(),
                static_cast<unsigned long long>(bar.batch), 1e3 * (bar.end - bar.begin)),
         std::max(bar.begin, begin) - begin, std::min(bar.end, end) - begin});
  }
  return Heading("Timeline",
                 "What each thread, the consumer and each slot did during some batches in the "
                 "middle of the last measured epoch. Point at a bar for its length; --trace FILE "
                 "has the whole epoch for a trace viewer.") +
         TimelinePlot(spans);
}

std::string LoadersTable(const Json& result) {
  if (!result.contains("loaders")) return "";
  TextTable table({"loader", "CPU s/1000", "peak MB", "first batch, s", "convert, s", "on disk, MB",
                   "PSNR, dB", "<settings"});
  for (const Json& loader : result["loaders"]) {
    const auto number = [&](const char* key, double scale, int digits) {
      return loader.contains(key) ? Format("%.*f", digits, scale * loader[key].get<double>()) : "";
    };
    const double cpu_seconds = loader.value("cpu_seconds_per_1000", 0.0);
    table.Add({loader["name"], cpu_seconds > 0 ? Format("%.3g", cpu_seconds) : "",
               number("peak_bytes", 1e-6, 0), number("first_batch_seconds", 1, 2),
               number("convert_seconds", 1, 1), number("bytes_on_disk", 1e-6, 1),
               number("psnr_db", 1, 1),
               loader.value("missing", loader.value("settings", std::string()))});
  }
  return "<h2>Loaders</h2>\n" + table.Html();
}

// A table of the rates of several comparisons, and then each comparison.
std::string Comparisons(const Json& result) {
  if (!result.contains("comparisons")) return "";
  std::string text;
  std::vector<std::string> headings = {"loader"}, names;
  for (const Json& one : result["comparisons"]) {
    const std::string of = one["source"].get<std::string>() + ", " +
                           Format("%u", one["threads"].get<unsigned>()) + " threads or processes";
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
  return "<h2>Images a second, side by side</h2>\n" + table.Html() + text;
}

std::string MeasurementsTable(const std::vector<Measurement>& measurements) {
  TextTable table({"name", "median", "least", "most", "values", "<unit"});
  for (const Measurement& one : measurements) {
    const Spread spread = SpreadOf(one.values);
    table.Add({one.name, Format("%.5g", spread.median), Format("%.5g", spread.least),
               Format("%.5g", spread.most), std::to_string(one.values.size()), one.unit});
  }
  return "<h2>Measurements</h2>\n" + table.Html();
}

// Settings and machine: every scalar value of the result that no plot or table shows.
std::string Facts(const Json& result) {
  static const std::set<std::string> shown = {"schema", "command", "verdict", "version",
                                              "median_images_per_second"};
  TextTable table({"", "<"});
  for (const Json& values : {result["machine"], result}) {
    for (const auto& [name, value] : values.items()) {
      if (!value.is_structured() && !shown.contains(name))
        table.Add({name, value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
  return "<h2>Machine and settings</h2>\n" + table.Html();
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
