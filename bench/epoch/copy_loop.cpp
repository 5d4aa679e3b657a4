#include "bench/epoch/copy_loop.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include <sluice/error.h>

namespace sluice::bench {
namespace {

constexpr std::size_t kBatchesEach = 2;  // of each thread

}  // namespace

CopyLoop::CopyLoop(Dataset dataset, const std::vector<std::uint64_t>& samples, std::uint32_t side,
                   std::size_t batch_size, unsigned threads)
    : dataset_(std::move(dataset)), side_(side), batch_size_(batch_size), batches_(threads) {
  items_.reserve(samples.size());
  for (const std::uint64_t number : samples) {
    const ImagePayload image = dataset_[number].Payload();
    if (image.codec != Codec::kRaw || image.width < side || image.height < side) {
      throw Error(ErrorCode::kUnsupported, dataset_.path().string(),
                  "copies need raw images that are as large as the part to be copied");
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

}  // namespace sluice::bench
