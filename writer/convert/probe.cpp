// Each thread fills only the entries of its own samples. All that depends on their order is
// gathered afterwards, on the calling thread: so the result does not depend on how many threads
// there are. Only the choice of outcomes to keep is made on the threads, by whichever comes first,
// until kKeptBytes are used; `bytes` keeps the sizes of the others.
#include "writer/convert/probe.h"

#include <algorithm>
#include <atomic>

#include "format/parallel.h"
#include "writer/convert/sample_encoder.h"
#include "writer/source/list/store_files.h"

namespace sluice {

namespace {

constexpr std::size_t kProbedSamples = 64;
constexpr std::uint64_t kGuessedBytes = 65'536;
constexpr std::uint64_t kKeptBytes = 64 << 20;
// Bytes of a sample besides its block bytes and its key: its entries in the directory's column and
// in the table of keys.
constexpr std::uint64_t kEntryBytes = 8;

}  // namespace

Probe ProbeSizes(const ConversionInput& input, unsigned threads, const std::stop_token& stop) {
  const SourceList& sources = input.sources;
  const Schema& schema = input.schema;
  const std::vector<std::uint32_t>& order = input.order;
  const std::size_t count = std::min(order.size(), kProbedSamples);
  const RecordLayout layout(schema);
  std::vector<SampleEncoder> encoders;
  encoders.reserve(threads);
  for (unsigned i = 0; i < threads; ++i)
    encoders.emplace_back(sources, input.options, schema, 0, 0);
  Probe probe;
  probe.outcomes.resize(count);
  std::atomic<std::uint64_t> kept{0};
  std::vector<std::uint64_t> bytes(count);
  const StoreFiles::Ahead ahead(sources, count,
                                [&](std::uint64_t i) { return &sources.sources[order[i]]; });
  ParallelFor(threads, count, stop, [&](unsigned worker, std::size_t i) {
    Outcome& outcome = probe.outcomes[i].emplace(encoders[worker].Encode(order[i]));
    if (!outcome.reason.empty()) return;
    bytes[i] =
        BlockBytesOf(outcome.sample, schema, layout) + outcome.sample.key.size() + kEntryBytes;
    if (kept.fetch_add(bytes[i]) + bytes[i] > kKeptBytes) outcome.sample = {};
  });
  if (stop.stop_requested()) ThrowStopped();

  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Outcome& outcome = *probe.outcomes[i];
    if (!outcome.reason.empty()) {
      probe.left_out.push_back({sources.KeyForPeople(order[i]), outcome.reason});
    } else {
      if (!outcome.cut_short.empty())
        probe.truncated.push_back({sources.KeyForPeople(order[i]), outcome.cut_short});
      if (outcome.turned) probe.turned.Add(i);
      if (outcome.dim) probe.dim.Add(i);
      sum += bytes[i];
      ++probe.samples;
    }
    if (!outcome.reason.empty() || outcome.sample.fields.empty()) probe.outcomes[i].reset();
  }
  probe.mean_bytes = probe.samples == 0 ? kGuessedBytes : sum / probe.samples;
  return probe;
}

void SummarizeProbe(const ConversionInput& input, const Probe& probe, ConvertSummary& summary) {
  const SourceList& sources = input.sources;
  const Plan& plan = input.plan;
  summary.samples = plan.samples;
  summary.shards = plan.shards();
  summary.bytes_out = plan.samples * probe.mean_bytes;
  summary.class_counts.resize(sources.classes.size());
  for (std::size_t i = 0; i < sources.sources.size(); ++i) {
    summary.bytes_in += sources.ImageBytesOf(i);
    if (sources.labelled)
      ++summary.class_counts[static_cast<std::size_t>(sources.sources[i].label)];
  }
  summary.skipped.insert(summary.skipped.end(), probe.left_out.begin(), probe.left_out.end());
  summary.truncated = probe.truncated;
  const auto name = [&](const NotedPositions& noted, SomeImages& images) {
    images.count = noted.count;
    for (const std::uint64_t position : noted.first)
      images.examples.push_back(sources.KeyForPeople(input.order[position]));
  };
  name(probe.turned, summary.turned);
  name(probe.dim, summary.dim);
}

}  // namespace sluice
