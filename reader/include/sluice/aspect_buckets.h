// Batches of images of similar shape, each with a size of that shape.
//
//   const sluice::AspectBuckets buckets(dataset, {{0, 640, 640}, {0, 768, 512}, {0, 512, 768}},
//   32); options.sizes = buckets.sizes(); options.order.batches = buckets;
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <sluice/batch_sampler.h>
#include <sluice/dataset.h>
#include <sluice/transform.h>

namespace sluice {

// For LoaderOptions::order.batches: each image goes to the size whose ratio of width to height is
// nearest to its own, by the ratio of the two ratios. In each epoch, a bucket's samples are cut
// into batches in a new order, and the batches of all buckets are played in a new order; both
// depend on (seed, epoch) alone. The last batch of a bucket may be short. Deleted samples are left
// out.
class AspectBuckets {
 public:
  // Reads the width and height of each image, and none of its pixels: 8 bytes a sample are kept.
  // `sizes`: only their width and height count. `batch_size`: the samples of all ranks' batches
  // together, LoaderOptions::batch_size x world_size. `image`: the field; empty: the first one.
  // Throws Error(kInvalidArgument) for no sizes, a size of 0 and a batch_size of 0, and the Error
  // of a shard that cannot be read.
  AspectBuckets(const Dataset& dataset, const std::vector<OutputSize>& sizes,
                std::uint64_t batch_size, std::string_view image = {});

  // For LoaderOptions::sizes; the transform needs a step that has a width and height.
  const std::vector<OutputSize>& sizes() const noexcept { return sizes_; }
  // The samples of each size.
  const std::vector<std::vector<std::uint64_t>>& buckets() const noexcept { return *buckets_; }
  // The batches of an epoch, each with the number of its size.
  BatchSampler::Lists operator()(std::uint64_t seed, std::uint64_t epoch) const;

 private:
  std::vector<OutputSize> sizes_;
  std::uint64_t batch_size_;
  std::shared_ptr<const std::vector<std::vector<std::uint64_t>>> buckets_;  // copies share it
};

}  // namespace sluice
