// The trace of an epoch: what each slot of the ring did for a batch, as events for a viewer.
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "bench/epoch/trace.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace sluice::bench {
namespace {

std::chrono::steady_clock::time_point At(int milliseconds) {
  return std::chrono::steady_clock::time_point() + std::chrono::milliseconds(1000 + milliseconds);
}

// Epoch 3: one batch that two workers decode, and that the consumer waits for.
std::vector<TraceBar> SmallTrace() {
  static const int memory = 0;
  EpochTrace trace(3, true);
  const auto add = [&](TraceEvent::Kind kind, unsigned thread, std::uint64_t epoch,
                       std::uint32_t row, std::uint32_t rows, int begin, int end) {
    trace.recorder()->Add({kind, thread, epoch, 0, row, rows, &memory, At(begin), At(end)});
  };
  add(TraceEvent::Kind::kDecode, 1, 2, 0, 4, -9, -5);  // from another epoch
  add(TraceEvent::Kind::kReadAhead, 0, 3, 0, 4, 0, 2);
  trace.Collect();
  add(TraceEvent::Kind::kDecode, 1, 3, 0, 2, 2, 5);
  add(TraceEvent::Kind::kDecode, 2, 3, 2, 2, 3, 8);
  trace.OnSpan({3, 0, &memory, At(1), At(9), At(14)});
  trace.OnSpan({4, 0, &memory, At(15), At(16), At(17)});
  trace.Collect();
  return BarsOf(trace);
}

const TraceBar& Named(const std::vector<TraceBar>& bars, const std::string& name) {
  for (const TraceBar& bar : bars) {
    if (bar.name == name) return bar;
  }
  FAIL("no bar is named " << name);
  return bars.front();
}

}  // namespace

TEST_CASE("a trace shows the work on a slot for each batch") {
  const std::vector<TraceBar> bars = SmallTrace();
  CHECK(bars.size() == 8);
  CHECK(Named(bars, "wait").begin == Approx(0.001));
  CHECK(Named(bars, "train").end == Approx(0.014));
  CHECK(Named(bars, "decoding").begin == Approx(0));
  CHECK(Named(bars, "decoding").end == Approx(0.008));
  CHECK(Named(bars, "ready").end == Approx(0.009));
  CHECK(Named(bars, "held").end == Approx(0.014));
  CHECK(Named(bars, "held").lane == "slot 1");
}

TEST_CASE("a trace file has a named lane for each thread and slot, and an event for each bar") {
  const test::TemporaryFolder folder;
  const std::vector<TraceBar> bars = SmallTrace();
  WriteTraceFile(folder / "trace.json", bars);
  std::ifstream file(folder / "trace.json");
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::set<std::string> lanes;
  std::size_t complete = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") lanes.insert(event["args"]["name"].get<std::string>());
    if (event["ph"] != "X") continue;
    ++complete;
    CHECK(event["dur"].get<double>() >= 0);
    if (event["name"] == "train")
      CHECK(event["dur"].get<double>() == Approx(5000));  // microseconds
  }
  CHECK(complete == bars.size());
  CHECK(lanes == std::set<std::string>{"read ahead", "worker 1", "worker 2", "consumer", "slot 1"});
}

}  // namespace sluice::bench
