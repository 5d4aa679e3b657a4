#include "bench/epoch/floor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

#include <sluice/error.h>

#include "reader/transform/geometry.h"

namespace sluice::bench {

Floor::Floor(const EpochOptions& options, unsigned threads)
    : dataset_(Dataset::Open(options.dataset, options.limits)), decoders_(threads) {
  order_ = options.loader.output.layout == Layout::kNHWC ? PixelOrder::kInterleaved
                                                         : PixelOrder::kPlanar;
  Gather(options.loader);
  ring_.rows = options.loader.batch_size;
  // All threads together have about as many slots as the loader: those decoded ahead, and one that
  // the consumer holds.
  ring_.slots = (options.loader.ring.prefetch.value_or(2) + 1 + threads - 1) / threads;
  ring_.bytes.resize(threads * ring_.slots * ring_.rows * ring_.row_bytes);
}

// Gathers the samples of one epoch. A loader plays it, so that the order is the loader's.
void Floor::Gather(const LoaderOptions& options) {
  items_.reserve(dataset_.size());
  const Geometry geometry(options.transform);
  const std::uint64_t draw_seed = DrawSeed(options.seed, 0);
  copies_ = true;
  LoaderOptions on_host = options;
  on_host.device = Device();
  Loader loader(dataset_, on_host);
  for (const Batch& batch : loader.Epoch(0)) {
    channels_ = static_cast<std::uint32_t>(batch.image().channels);
    for (const std::uint64_t index : batch.samples().first(batch.valid())) {
      Item item;
      item.payload = dataset_[index].Payload(options.output.image);
      item.region =
          geometry.FrameFor(item.payload.width, item.payload.height, draw_seed, items_.size())
              .region;
      copies_ = copies_ && item.payload.codec == Codec::kRaw;
      ring_.row_bytes = std::max(
          {ring_.row_bytes, batch.image().sample_bytes(), copies_ ? item.payload.bytes.size() : 0});
      items_.push_back(item);
    }
  }
}

void Floor::DoOne(const Item& item, PayloadDecoder& decoder, std::byte* row) const {
  if (copies_) {
    std::memcpy(row, item.payload.bytes.data(), item.payload.bytes.size());
    return;
  }
  const PixelTarget target{reinterpret_cast<std::uint8_t*>(row), channels_, order_};
  if (const Defect defect = decoder.Decode(item.payload, item.region, target)) {
    throw Error(ErrorCode::kCorrupt,
                std::string("the bare loop cannot decode an image: ") + defect);
  }
}

double Floor::Round() {
  std::atomic<std::size_t> next_batch{0};
  std::vector<std::exception_ptr> failures(decoders_.size());
  const auto work = [&](std::size_t thread) {
    try {
      for (std::size_t turn = 0;; ++turn) {
        const std::size_t first = next_batch.fetch_add(1, std::memory_order_relaxed) * ring_.rows;
        if (first >= items_.size()) return;
        const std::size_t last = std::min(first + ring_.rows, items_.size());
        std::byte* row = ring_.Slot(thread, turn);
        for (std::size_t i = first; i < last; ++i, row += ring_.row_bytes)
          DoOne(items_[i], decoders_[thread], row);
      }
    } catch (...) {
      failures[thread] = std::current_exception();
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> others;
    for (std::size_t thread = 1; thread < decoders_.size(); ++thread)
      others.emplace_back(work, thread);
    work(0);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return static_cast<double>(items_.size()) / std::max(seconds.count(), 1e-9);
}

}  // namespace sluice::bench
