// The loader records the work of its threads, and the consumer its waits and steps. This file joins
// the two by the batch's number, so the life of a slot (decoding, ready, held) is derived, not
// recorded. A slot is known only by its address; slots are numbered in the order in which the
// consumer first gets them. Collect() empties the recorder after every epoch, also one that is not
// traced, because a full recorder drops further events. In the trace file, a change of the lane
// begins a new thread, so the bars must come lane by lane.
#include "bench/epoch/trace.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "bench/report/result.h"

namespace sluice::bench {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

// When one batch, in its slot, was planned, decoded, handed over and given back.
struct SlotLife {
  const void* slot = nullptr;
  std::uint64_t batch = 0;
  TimePoint planned, decoded, handed_over, given_back;
};

std::vector<SlotLife> LivesOf(const EpochTrace& trace) {
  std::map<std::uint64_t, SlotLife> by_batch;
  for (const TraceEvent& event : trace.events()) {
    SlotLife& life = by_batch[event.batch];
    if (event.kind == TraceEvent::Kind::kReadAhead) {
      life.planned = event.begin;
    } else {
      life.decoded = std::max(life.decoded, event.end);
    }
  }
  std::vector<SlotLife> lives;
  for (const ConsumerSpan& span : trace.spans()) {
    const auto found = by_batch.find(span.batch);
    if (found == by_batch.end()) continue;
    SlotLife life = found->second;
    life.slot = span.slot;
    life.batch = span.batch;
    life.handed_over = span.got;
    life.given_back = span.done;
    lives.push_back(life);
  }
  return lives;
}

TimePoint FirstOf(const EpochTrace& trace) {
  TimePoint first = TimePoint::max();
  for (const TraceEvent& event : trace.events())
    first = std::min(first, event.begin);
  for (const ConsumerSpan& span : trace.spans())
    first = std::min(first, span.asked);
  return first;
}

}  // namespace

void EpochTrace::OnSpan(const ConsumerSpan& span) {
  if (span.epoch == epoch_) spans_.push_back(span);
}

void EpochTrace::Collect() {
  for (const TraceEvent& event : recorder_->Take()) {
    if (event.epoch == epoch_) events_.push_back(event);
  }
}

std::vector<TraceBar> BarsOf(const EpochTrace& trace) {
  const TimePoint origin = FirstOf(trace);
  const auto at = [origin](TimePoint moment) {
    return std::chrono::duration<double>(moment - origin).count();
  };
  std::vector<TraceBar> bars;
  std::map<unsigned, std::vector<TraceBar>> by_thread;
  for (const TraceEvent& event : trace.events()) {
    const bool ahead = event.kind == TraceEvent::Kind::kReadAhead;
    by_thread[event.thread].push_back(
        {ahead ? "read ahead" : "worker " + std::to_string(event.thread),
         ahead ? "read ahead" : "decode", event.batch, event.first_row, event.rows, at(event.begin),
         at(event.end)});
  }
  for (auto& [thread, own] : by_thread)
    bars.insert(bars.end(), own.begin(), own.end());
  for (const ConsumerSpan& span : trace.spans()) {
    bars.push_back({"consumer", "wait", span.batch, 0, 0, at(span.asked), at(span.got)});
    bars.push_back({"consumer", "train", span.batch, 0, 0, at(span.got), at(span.done)});
  }
  std::vector<const void*> slots;
  std::vector<TraceBar> ring;
  for (const SlotLife& life : LivesOf(trace)) {
    if (std::find(slots.begin(), slots.end(), life.slot) == slots.end()) slots.push_back(life.slot);
    const auto number = std::find(slots.begin(), slots.end(), life.slot) - slots.begin();
    const std::string lane = "slot " + std::to_string(number + 1);
    ring.push_back({lane, "decoding", life.batch, 0, 0, at(life.planned), at(life.decoded)});
    ring.push_back({lane, "ready", life.batch, 0, 0, at(life.decoded), at(life.handed_over)});
    ring.push_back({lane, "held", life.batch, 0, 0, at(life.handed_over), at(life.given_back)});
  }
  std::stable_sort(ring.begin(), ring.end(),
                   [](const TraceBar& a, const TraceBar& b) { return a.lane < b.lane; });
  bars.insert(bars.end(), ring.begin(), ring.end());
  return bars;
}

void WriteTraceFile(const std::filesystem::path& path, const std::vector<TraceBar>& bars) {
  constexpr int kProcess = 1;
  auto events = nlohmann::ordered_json::array();
  std::vector<std::string> lanes;
  for (const TraceBar& bar : bars) {
    if (lanes.empty() || lanes.back() != bar.lane) {
      lanes.push_back(bar.lane);
      const auto thread = lanes.size();
      events.push_back({{"name", "thread_name"},
                        {"ph", "M"},
                        {"pid", kProcess},
                        {"tid", thread},
                        {"args", {{"name", bar.lane}}}});
      events.push_back({{"name", "thread_sort_index"},
                        {"ph", "M"},
                        {"pid", kProcess},
                        {"tid", thread},
                        {"args", {{"sort_index", thread}}}});
    }
    nlohmann::ordered_json event{{"name", bar.name},
                                 {"ph", "X"},
                                 {"pid", kProcess},
                                 {"tid", lanes.size()},
                                 {"ts", 1e6 * bar.begin},  // microseconds
                                 {"dur", 1e6 * std::max(bar.end - bar.begin, 0.0)},
                                 {"args", {{"batch", bar.batch}}}};
    if (bar.rows > 0) {
      event["args"]["first_row"] = bar.first_row;
      event["args"]["rows"] = bar.rows;
    }
    events.push_back(std::move(event));
  }
  const nlohmann::ordered_json file{{"displayTimeUnit", "ms"}, {"traceEvents", events}};
  WriteTextFile(path, file.dump() + "\n");
}

}  // namespace sluice::bench
