// LoaderOptions::diagnostics.trace: the recorded events of playing.
#include <map>

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
