#include "writer/convert/probe.h"

#include <algorithm>
#include <atomic>

#include "format/parallel.h"
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

Probe ProbeSizes(const SourceList& sources, const Schema& schema,
                 const std::vector<std::uint32_t>& order, const ConvertOptions& options,
                 unsigned threads, const std::stop_token& stop) {
  const std::size_t count = std::min(order.size(), kProbedSamples);
  const RowLayout layout(schema);
  std::vector<SampleEncoder> encoders;
  encoders.reserve(threads);
  for (unsigned i = 0; i < threads; ++i)
    encoders.emplace_back(sources, options, schema, 0, 0);
  Probe probe;
  probe.outcomes.resize(count);
  std::atomic<std::uint64_t> kept{0};
  std::vector<std::uint64_t> bytes(count);
  std::vector<std::string> reasons(count);
  std::vector<std::string> truncated(count);
  std::vector<char> turned(count);
  std::vector<char> dim(count);
  std::optional<StoreFiles::Ahead> ahead;
  if (sources.store != nullptr) {
    ahead.emplace(*sources.store, count, [&](std::uint64_t index) -> StoreFiles::Wanted {
      const Source& source = sources.sources[order[index]];
      return {source.key, source.bytes};
    });
  }
  ParallelFor(threads, count, stop, [&](unsigned worker, std::size_t i) {
    Outcome outcome = encoders[worker].Encode(order[i]);
    reasons[i] = std::move(outcome.reason);
    if (!reasons[i].empty()) return;
    truncated[i] = outcome.cut_short;
    turned[i] = outcome.turned ? 1 : 0;
    dim[i] = outcome.dim ? 1 : 0;
    bytes[i] =
        BlockBytesOf(outcome.sample, schema, layout) + outcome.sample.key.size() + kEntryBytes;
    if (kept.fetch_add(bytes[i]) + bytes[i] <= kKeptBytes) probe.outcomes[i] = std::move(outcome);
  });
  if (stop.stop_requested()) ThrowStopped();

  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!reasons[i].empty()) {
      probe.left_out.push_back({sources.KeyForPeople(order[i]), std::move(reasons[i])});
      continue;
    }
    if (!truncated[i].empty()) {
      probe.truncated.push_back({sources.KeyForPeople(order[i]), std::move(truncated[i])});
    }
    if (turned[i] != 0) probe.turned.Add(i);
    if (dim[i] != 0) probe.dim.Add(i);
    sum += bytes[i];
    ++probe.samples;
  }
  probe.mean_bytes = probe.samples == 0 ? kGuessedBytes : sum / probe.samples;
  return probe;
}

}  // namespace sluice
