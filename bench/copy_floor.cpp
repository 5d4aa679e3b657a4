#include "bench/copy_floor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using PayloadBytes = std::span<const std::byte>;

// The payloads in the order of one epoch. A loader plays it, so that the order is its own;
// `dataset` keeps what they point into.
std::vector<PayloadBytes> PayloadsInOrder(const Dataset& dataset, const LoaderOptions& options) {
  std::vector<PayloadBytes> payloads;
  payloads.reserve(dataset.size());
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    for (const std::uint64_t index : batch.samples().first(batch.valid())) {
      payloads.push_back(dataset[index].Payload(options.image).bytes);
    }
  }
  return payloads;
}

// Where the copies go: each thread goes round slots of its own, so that no two ever write to one.
struct Ring {
  std::size_t row_bytes = 1;
  std::size_t rows = 0;   // in a slot
  std::size_t slots = 0;  // of each thread
  std::vector<std::byte> bytes;

  std::byte* Slot(std::size_t thread, std::size_t turn) {
    return bytes.data() + (thread * slots + turn % slots) * rows * row_bytes;
  }
};

// One round of copies; returns its seconds.
double CopyAll(const std::vector<PayloadBytes>& payloads, unsigned threads, Ring& ring) {
  std::atomic<std::size_t> next_batch{0};
  const auto work = [&](std::size_t thread) {
    for (std::size_t turn = 0;; ++turn) {
      const std::size_t first = next_batch.fetch_add(1, std::memory_order_relaxed) * ring.rows;
      if (first >= payloads.size()) return;
      const std::size_t last = std::min(first + ring.rows, payloads.size());
      std::byte* row = ring.Slot(thread, turn);
      for (std::size_t i = first; i < last; ++i, row += ring.row_bytes) {
        std::memcpy(row, payloads[i].data(), payloads[i].size());
      }
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < threads; ++thread)
      others.emplace_back(work, thread);
    work(0);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void CheckCopyFloor(const Dataset& dataset) {
  if (dataset.size() == 0 || dataset.images().empty() ||
      dataset[0].Payload().codec != Codec::kRaw) {
    throw cli::UsageError(
        "--copy-floor compares with bare copies and needs a dataset of raw images; "
        "convert with --image raw --size WxH");
  }
}

CopyFloor MeasureCopyFloor(const EpochOptions& options, unsigned threads,
                           const std::stop_token& stop) {
  const Dataset dataset = Dataset::Open(options.dataset);
  const std::vector<PayloadBytes> payloads = PayloadsInOrder(dataset, options.loader);
  Ring ring;
  for (const PayloadBytes& payload : payloads) {
    ring.row_bytes = std::max(ring.row_bytes, payload.size());
  }
  ring.rows = options.loader.batch_size;
  // All together about as many as the loader has: what it decodes ahead, and one in the consumer's
  // hand.
  ring.slots = (options.loader.prefetch + 1 + threads - 1) / threads;
  ring.bytes.resize(threads * ring.slots * ring.rows * ring.row_bytes);

  std::vector<double> rates;
  CopyAll(payloads, threads, ring);  // touches every page once
  for (std::uint64_t round = 0; round < options.epochs; ++round) {
    if (stop.stop_requested()) throw Interrupted();
    const double seconds = CopyAll(payloads, threads, ring);
    rates.push_back(static_cast<double>(payloads.size()) / std::max(seconds, 1e-9));
  }
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2),
                   rates.end());
  return {rates[rates.size() / 2]};
}

}  // namespace sluice::bench
