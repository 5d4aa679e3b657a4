// The options and the digest of batches that tests of LoaderOptions::share use, in this process and
// in others.
#pragma once

#include <sluice/loader.h>

namespace sluice::test {

inline LoaderOptions SharingOptions() {
  LoaderOptions options;
  options.batch_size = 8;
  options.threads = 2;
  options.transform = {RandomResizedCrop(32), HorizontalFlip(), ColorJitter(0.4, 0.4, 0.4, 0.1)};
  options.seed = 5;
  return options;
}

// FNV-1a over the samples, pixels and labels of a batch, after those of earlier ones.
inline std::uint64_t DigestWith(std::uint64_t digest, const Batch& batch) {
  const auto add = [&digest](const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i)
      digest = (digest ^ from[i]) * 1099511628211U;
  };
  const auto labels = batch.Field<std::int32_t>("label");
  add(batch.samples().data(), batch.samples().size_bytes());
  add(labels.data(), labels.size_bytes());
  add(batch.image().data, batch.image().samples * batch.image().sample_bytes());
  return digest;
}

}  // namespace sluice::test
