// Publishes the measurements of loaders for dashboards, as text that Prometheus and related
// programs read. The text is in a file, which node_exporter passes on.
//
//   auto metrics = std::make_shared<sluice::Metrics>("metrics/train.prom");
//   train_options.diagnostics.metrics = metrics;
//   train_options.diagnostics.name = "train";
//
// samples/guides/metrics.md lists the figures and says how to look at them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <sluice/loader_stats.h>

namespace sluice {

// The names of labels (letters, digits and _, not beginning with a digit) and their values.
using MetricLabels = std::map<std::string, std::string>;

// The form of the text.
enum class MetricsFormat {
  kOpenMetrics,  // OpenMetrics 1.0
  kPrometheus,   // Prometheus' older text format 0.0.4, which node_exporter reads from files
};

// A loader's figures, with the labels that distinguish the loader from others.
struct LabelledStats {
  LoaderStats stats;    // since the loader's first Epoch()
  MetricLabels labels;  // "rank" is added if it is not among them
};

// The figures of all these loaders as text. The labels of any two loaders must differ. In the value
// of a label, a byte that is not valid UTF-8 becomes "?". Throws Error(kInvalidArgument) if the
// name of a label is not allowed ("le" is not, nor is a name that begins with "__").
std::string MetricsText(std::span<const LabelledStats> loaders,
                        MetricsFormat format = MetricsFormat::kOpenMetrics);
// The figures of one loader as text, in the format OpenMetrics.
std::string OpenMetricsText(const LoaderStats& stats, const MetricLabels& labels = {});

// How a Metrics is published.
struct MetricsOptions {
  // How often a file is written: 10 ms to a day.
  std::chrono::milliseconds every = std::chrono::seconds(10);
};

// Publishes the figures of the loaders that have this object as LoaderOptions::diagnostics.metrics.
// A thread of the object writes the file, and ends with the object. Any thread may call any
// function. In a process that was forked since the object was made, all functions throw
// Error(kState).
class Metrics {
 public:
  // `file` is "FOLDER/NAME.prom", in Prometheus' format, for node_exporter's collector "textfile",
  // which reads *.prom. The file is written every MetricsOptions::every, and when a loader ends.
  // Each new file replaces the old one by a rename. If `file` is empty, only Text() gives the
  // figures, for a server of your own.
  //
  // Errors:
  //
  //   kInvalidArgument   `file` is a URL or a network address ("localhost:9464", "9464"), not a
  //                      path; or MetricsOptions::every is out of range
  //   kIo                the file cannot be written
  //   kNotFound          its folder is missing
  //   kLimit             there can be no more threads
  explicit Metrics(const std::string& file = {}, MetricsOptions options = {});
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The present figures of all loaders, as text.
  std::string Text(MetricsFormat format = MetricsFormat::kOpenMetrics) const;
  // Why the last attempt to write the file failed; empty if it succeeded.
  std::string last_error() const;

  // Adds figures; a Loader calls this for itself. Any thread may call `stats` to read the figures,
  // until the returned object is destroyed; its destructor waits for such a call. If other figures
  // already have the same labels, "-2" (or "-3", ...) is appended to the label "loader". Throws
  // Error(kInvalidArgument) as MetricsText() does.
  std::shared_ptr<void> Add(MetricLabels labels, std::function<LoaderStats()> stats);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace sluice
