// Publishes the measurements of loaders for dashboards, as text that Prometheus and its relatives
// read: in a file, which node_exporter passes on.
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

// Names of labels (letters, digits and _, not a digit first) and their values.
using MetricLabels = std::map<std::string, std::string>;

// The form of the text.
enum class MetricsFormat {
  kOpenMetrics,  // OpenMetrics 1.0
  kPrometheus,   // Prometheus' older text format 0.0.4, which node_exporter reads from files
};

// A loader's figures with the labels that tell it from other loaders.
struct LabelledStats {
  LoaderStats stats;    // since the loader's first Epoch()
  MetricLabels labels;  // besides "rank", which is added if it is not among them
};

// The figures of all these loaders. Their labels must differ. Throws Error(kInvalidArgument) if a
// label's name is not allowed ("le" is not, nor one that begins with "__"). In a label's value, a
// byte that is not valid UTF-8 becomes "?".
std::string MetricsText(std::span<const LabelledStats> loaders,
                        MetricsFormat format = MetricsFormat::kOpenMetrics);
// The figures of one loader.
std::string OpenMetricsText(const LoaderStats& stats, const MetricLabels& labels = {});

// How a Metrics is published.
struct MetricsOptions {
  // How often a file is written: 10 ms to a day.
  std::chrono::milliseconds every = std::chrono::seconds(10);
};

// Publishes the figures of the loaders that have it as LoaderOptions::diagnostics.metrics, by a
// thread of its own that ends with it. All functions may be called from any thread, but throw
// Error(kState) in a process forked since.
class Metrics {
 public:
  // `file`: "FOLDER/NAME.prom", in Prometheus' format, replaced by a rename every
  // MetricsOptions::every and when a loader ends; for node_exporter's collector "textfile", which
  // reads *.prom. Empty: only Text() gives the figures, for a server of your own. Throws
  // Error(kInvalidArgument) for an address or a URL; Error(kIo) if the file cannot be written,
  // Error(kNotFound) if its folder is missing, and Error(kLimit) if there can be no more threads.
  explicit Metrics(const std::string& file = {}, MetricsOptions options = {});
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The figures of all loaders now.
  std::string Text(MetricsFormat format = MetricsFormat::kOpenMetrics) const;
  // Why the file could not be written last time; empty if it was written.
  std::string last_error() const;

  // Adds figures: a Loader calls it for itself. `stats` is called when the figures are read, by any
  // thread, until the returned object is destroyed, which waits for such a call. If the labels
  // equal those of figures that are there, "-2" is appended to the label "loader" (or "-3", ...).
  // Throws Error(kInvalidArgument) as MetricsText() does.
  std::shared_ptr<void> Add(MetricLabels labels, std::function<LoaderStats()> stats);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace sluice
