// One epoch, event by event: what each thread, each slot and the consumer did.
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
  explicit EpochTrace(std::uint64_t epoch) : epoch_(epoch) {}

  // For LoaderOptions::diagnostics.trace; the same for every loader that plays.
  const std::shared_ptr<LoaderTrace>& recorder() const noexcept { return recorder_; }
  void OnSpan(const ConsumerSpan& span);
  // Call it as each epoch ends, so that events of other epochs take no memory.
  void Collect();

  const std::vector<TraceEvent>& events() const noexcept { return events_; }
  const std::vector<ConsumerSpan>& spans() const noexcept { return spans_; }

 private:
  std::uint64_t epoch_;
  std::shared_ptr<LoaderTrace> recorder_ = std::make_shared<LoaderTrace>();
  std::vector<TraceEvent> events_;
  std::vector<ConsumerSpan> spans_;
};

// The events as bars of a drawing, sorted by lane: reading ahead, workers, the consumer, slots;
// each by time.
std::vector<TraceBar> BarsOf(const EpochTrace& trace);

// Writes the trace-event format, for Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev).
// Error(kIo).
void WriteTraceFile(const std::filesystem::path& path, const std::vector<TraceBar>& bars);

}  // namespace sluice::bench
