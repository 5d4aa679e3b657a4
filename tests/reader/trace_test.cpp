// LoaderOptions::diagnostics.trace: the recorded events of playing.
#include <map>
#include <set>

#include <sluice/parse_pipeline.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("A trace has every row of every batch once, in the batch's own memory") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.diagnostics.trace = std::make_shared<LoaderTrace>();
  std::map<std::uint64_t, const void*> memory;
  {
    Loader loader(Dataset::Open(WriteRawDataset(folder, 34)), options);
    for (const Batch& batch : loader.Epoch(0))
      memory[batch.index()] = batch.image().data;
  }
  std::map<std::uint64_t, std::uint64_t> planned, decoded;
  for (const TraceEvent& event : options.diagnostics.trace->Take()) {
    CHECK(event.begin <= event.end);
    if (event.epoch != 0) continue;  // what was decoded ahead
    const bool ahead = event.kind == TraceEvent::Kind::kReadAhead;
    CHECK(ahead == (event.thread == 0));
    CHECK(event.thread <= 2);
    CHECK(event.slot == memory.at(event.batch));
    (ahead ? planned : decoded)[event.batch] += event.rows;
  }
  const std::map<std::uint64_t, std::uint64_t> rows = {{0, 10}, {1, 10}, {2, 10}, {3, 4}};
  CHECK(planned == rows);
  CHECK(decoded == rows);
  CHECK(options.diagnostics.trace->Take().empty());
}

TEST_CASE("A trace keeps its maximum of events and counts the others") {
  LoaderTrace trace(3);
  for (int i = 0; i < 5; ++i)
    trace.Add({});
  CHECK(trace.dropped() == 2);
  CHECK(trace.Take().size() == 3);
}

namespace {

// The parts that were timed while an epoch was played; "step" stands before a step.
std::set<std::string> PartsOf(const Dataset& dataset, LoaderOptions options, bool times_parts) {
  const auto trace = std::make_shared<LoaderTrace>(0, times_parts);
  options.diagnostics.trace = trace;
  {
    Loader loader(dataset, options);
    for (const Batch& batch : loader.Epoch(0))
      CHECK(batch.size() > 0);
  }
  std::set<std::string> parts;
  for (const PartTime& time : trace->TakeTimes()) {
    CHECK(time.seconds >= 0);
    CHECK(parts.insert((time.step ? "step " : "") + time.part).second);
  }
  CHECK(trace->TakeTimes().empty());
  return parts;
}

}  // namespace

TEST_CASE("A trace that times parts names each step and each other part of making rows") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.transform = ParsePipeline("rrc:32,affine:10,jitter:0.4,blur:5,jitter:0.1,normalize");
  options.sample_function = [](MutableSample&) {};
  const Dataset jpegs = Dataset::Open(WriteJpegDataset(folder, 40, StoredForm()));
  CHECK(PartsOf(jpegs, options, true) == std::set<std::string>{"checksum", "decode", "fields",
                                                               "function", "normalize", "other",
                                                               "step blur", "step jitter", "warp"});
  CHECK(PartsOf(jpegs, options, false).empty());
}

TEST_CASE("Rows that are copied have a part for that") {
  const TemporaryFolder folder;
  CHECK(PartsOf(Dataset::Open(WriteRawDataset(folder, 34)), OptionsFor(10, 2), true)
            .contains("copy"));
}
