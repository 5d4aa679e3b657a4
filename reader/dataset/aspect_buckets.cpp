// The orders are permutations by keys of their own: of a bucket by its number, of the batches by
// the number of buckets.
#include <algorithm>
#include <cmath>
#include <utility>

#include <sluice/aspect_buckets.h>
#include <sluice/error.h>

#include "format/random.h"
#include "reader/order/permutation.h"

namespace sluice {

AspectBuckets::AspectBuckets(const Dataset& dataset, const std::vector<OutputSize>& sizes,
                             std::uint64_t batch_size, std::string_view image)
    : batch_size_(batch_size) {
  const auto wrong = [](const OutputSize& size) { return size.width == 0 || size.height == 0; };
  constexpr std::size_t kMostSizes = 1000;
  if (sizes.empty() || sizes.size() > kMostSizes || batch_size == 0 ||
      std::ranges::any_of(sizes, wrong)) {
    throw Error(ErrorCode::kInvalidArgument,
                "AspectBuckets needs 1 to 1000 sizes of at least one pixel, and a batch_size of at "
                "least 1");
  }
  for (const OutputSize& size : sizes)
    sizes_.push_back({0, size.width, size.height, 1});
  std::vector<std::vector<std::uint64_t>> buckets(sizes.size());
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    if (dataset.IsDeleted(sample)) continue;
    const ImagePayload shape = dataset[sample].Shape(image);
    if (shape.width == 0 || shape.height == 0) continue;  // it has no image
    // The ratio of the two ratios, as a number of at least 1.
    const auto away = [&shape](const OutputSize& size) {
      const double one = double(shape.width) * size.height;
      const double other = double(shape.height) * size.width;
      return std::max(one, other) / std::min(one, other);
    };
    const auto nearest = std::ranges::min_element(sizes_, {}, away);
    buckets[static_cast<std::size_t>(nearest - sizes_.begin())].push_back(sample);
  }
  buckets_ = std::make_shared<const std::vector<std::vector<std::uint64_t>>>(std::move(buckets));
}

BatchSampler::Lists AspectBuckets::operator()(std::uint64_t seed, std::uint64_t epoch) const {
  BatchSampler::Lists cut;
  const auto key = [&](std::size_t number) {
    return RandomStream(seed, Purpose::kSampleDraw, epoch, static_cast<std::uint16_t>(1 + number))
        .Word64();
  };
  for (std::size_t b = 0; b < buckets_->size(); ++b) {
    const std::vector<std::uint64_t>& bucket = (*buckets_)[b];
    const Permutation order(bucket.size(), key(b));
    for (std::uint64_t i = 0; i < bucket.size(); ++i) {
      if (i % batch_size_ == 0) {
        cut.emplace_back();
        cut.sizes.push_back(static_cast<std::uint32_t>(b));
      }
      cut.back().push_back(bucket[order(i)]);
    }
  }
  BatchSampler::Lists batches;
  const Permutation order(cut.size(), key(buckets_->size()));
  for (std::uint64_t i = 0; i < cut.size(); ++i) {
    batches.push_back(std::move(cut[order(i)]));
    batches.sizes.push_back(cut.sizes[order(i)]);
  }
  return batches;
}

}  // namespace sluice
