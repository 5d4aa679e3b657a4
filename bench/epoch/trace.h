// Records one epoch, event by event: the work of each thread, each slot and the consumer.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <sluice/loader_trace.h>

#include "bench/epoch/run.h"
#include "bench/report/page.h"

namespace sluice::bench {

// Collects the events of one epoch; other epochs are played before and after it.
class EpochTrace {
 public:
  // `events`: whether to record events. The times of the parts of decoding are recorded anyway.
  EpochTrace(std::uint64_t epoch, bool events)
      : epoch_(epoch),
        recorder_(std::make_shared<LoaderTrace>(events ? LoaderTrace::kMost : 0, true)) {}

  // The recorder for LoaderOptions::diagnostics.trace; the same one for every loader that plays.
  const std::shared_ptr<LoaderTrace>& recorder() const noexcept { return recorder_; }
  void OnSpan(const ConsumerSpan& span);
  // Call this as each epoch ends: it drops the events of all epochs but the traced one.
  void Collect();

  const std::vector<TraceEvent>& events() const noexcept { return events_; }
  const std::vector<ConsumerSpan>& spans() const noexcept { return spans_; }

 private:
  std::uint64_t epoch_;
  std::shared_ptr<LoaderTrace> recorder_;
  std::vector<TraceEvent> events_;
  std::vector<ConsumerSpan> spans_;
};

// The events as bars of a drawing, sorted by lane (reading ahead, workers, the consumer, slots) and
// then by time.
std::vector<TraceBar> BarsOf(const EpochTrace& trace);

// Writes the trace-event format, for Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev).
// Throws Error(kIo).
void WriteTraceFile(const std::filesystem::path& path, const std::vector<TraceBar>& bars);

}  // namespace sluice::bench
