// Two loops that do the least work that a loader must do, to compare loaders with. CopyLoop only
// copies raw images, for `sluice-bench compare`. Floor only copies or decodes the samples of one
// epoch, in the loader's own order, into buffers as many and as large as the loader's. If the
// loader takes longer than Floor, the difference is queueing, checksums, and waiting.
#include "bench/epoch/floor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <random>
#include <thread>

#include <sluice/error.h>

#include "reader/transform/geometry.h"

namespace sluice::bench {

namespace {

constexpr std::size_t kBatchesEach = 2;  // the batches that each thread has memory for

}  // namespace

CopyLoop::CopyLoop(Dataset dataset, const std::vector<std::uint64_t>& samples, std::uint32_t side,
                   std::size_t batch_size, unsigned threads)
    : dataset_(std::move(dataset)), side_(side), batch_size_(batch_size), batches_(threads) {
  items_.reserve(samples.size());
  for (const std::uint64_t number : samples) {
    const ImagePayload image = dataset_[number].Payload();
    if (image.codec != Codec::kRaw || image.width < side || image.height < side) {
      throw Error(ErrorCode::kUnsupported, dataset_.path().string(),
                  "sample " + std::to_string(number) + " is not a raw image of at least " +
                      std::to_string(side) + " x " + std::to_string(side) +
                      " pixels; the copy loop copies only such images");
    }
    const std::size_t pixel = image.channels * SizeOf(image.pixel_type);
    const std::size_t stride = image.width * pixel;
    const std::size_t left = (image.width - side) / 2, top = (image.height - side) / 2;
    items_.push_back({number, image.bytes.data() + top * stride + left * pixel, stride,
                      std::size_t{side} * pixel});
    image_bytes_ = std::max(image_bytes_, side * items_.back().row_bytes);
  }
  for (std::vector<std::byte>& batch : batches_)
    batch.resize(kBatchesEach * batch_size_ * image_bytes_);
}

void CopyLoop::Copy(unsigned thread, std::size_t begin, std::size_t end) {
  const std::size_t turn = begin / batch_size_ % kBatchesEach;
  std::byte* to = batches_[thread].data() + turn * batch_size_ * image_bytes_;
  for (std::size_t i = begin; i < end; ++i, to += image_bytes_) {
    const Item& item = items_[order_[i]];
    if (item.row_bytes == item.stride) {
      std::memcpy(to, item.first, side_ * item.row_bytes);
      continue;
    }
    for (std::uint32_t y = 0; y < side_; ++y)
      std::memcpy(to + y * item.row_bytes, item.first + y * item.stride, item.row_bytes);
  }
}

const std::vector<std::uint64_t>& CopyLoop::Play(std::uint64_t epoch) {
  order_.resize(items_.size());
  for (std::size_t i = 0; i < order_.size(); ++i)
    order_[i] = i;
  std::mt19937_64 random(epoch);
  std::shuffle(order_.begin(), order_.end(), random);
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < batches_.size(); ++t) {
      threads.emplace_back([this, t, &next] {
        for (std::size_t begin = next.fetch_add(batch_size_); begin < order_.size();
             begin = next.fetch_add(batch_size_))
          Copy(t, begin, std::min(begin + batch_size_, order_.size()));
      });
    }
  }
  for (std::uint64_t& place : order_)
    place = items_[place].number;
  return order_;
}

Floor::Floor(const EpochOptions& options, unsigned threads)
    : dataset_(Dataset::Open(options.dataset, options.limits)), decoders_(threads) {
  order_ = options.loader.output.layout == Layout::kNHWC ? PixelOrder::kInterleaved
                                                         : PixelOrder::kPlanar;
  Gather(options.loader);
  ring_.rows = options.loader.batch_size;
  // Together, all threads have about as many slots as the loader: the batches decoded ahead, and
  // the one that the consumer holds.
  ring_.slots = (options.loader.ring.prefetch.value_or(2) + 1 + threads - 1) / threads;
  ring_.bytes.resize(threads * ring_.slots * ring_.rows * ring_.row_bytes);
}

// Gathers the samples of one epoch by playing it, so that the order is the loader's.
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
      item.number = index;
      item.payload = dataset_[index].Payload(options.output.image);
      item.region = geometry
                        .FrameFor(item.payload.width, item.payload.height, draw_seed, items_.size(),
                                  geometry.RowStage(0, draw_seed, items_.size()))
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
                "--floor cannot decode sample " + std::to_string(item.number) + ": " + defect);
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
