// Learns, without labels, which views show the same picture. Trains a linear encoder with the
// contrastive loss (InfoNCE, van den Oord et al. 2018) over the pairs of a batch.
//
//   sluice convert photos/ data/photos
//   train_contrastive data/photos 20
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include <sluice/loader.h>

constexpr std::size_t kSide = 16, kInputs = kSide * kSide * 3, kOutputs = 32;
constexpr float kRate = 3e-5F;
using Numbers = std::vector<float>;

float Dot(const float* a, const float* b, std::size_t count = kInputs) {
  return std::inner_product(a, a + count, b, 0.F);
}

void Add(float factor, const float* from, float* to, std::size_t count = kInputs) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] += factor * from[i];
}

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: train_contrastive DATASET EPOCHS\n");
    return 2;
  }
  sluice::LoaderOptions options;
  options.batch_size = 32;
  options.output.channels = 3;
  options.transform = {sluice::RandomResizedCrop(kSide), sluice::HorizontalFlip(),
                       sluice::ColorJitter(0.4, 0.4, 0.2), sluice::GaussianBlur{3},
                       sluice::Normalize{{0.5F}, {0.25F}}};
  // The same steps, with their own random draws.
  options.views = {{"second", options.transform, {}}};
  sluice::Loader loader(sluice::Dataset::Open(argv[1]), options);

  Numbers w(kOutputs * kInputs);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = 0.01F * std::sin(float(i * i % 1009));  // any distinct start values
  for (int epoch = 0; epoch < std::stoi(argv[2]); ++epoch) {
    double loss = 0, found = 0, pairs = 0;
    for (const sluice::Batch& batch : loader.Epoch(static_cast<std::uint64_t>(epoch))) {
      const std::size_t n = batch.size();
      const float* views[2] = {batch.image().floats(), batch.image("second").floats()};
      Numbers codes[2], slopes[2] = {Numbers(n * kOutputs), Numbers(n * kOutputs)}, p(n);
      for (std::size_t v = 0; v < 2; ++v)
        for (std::size_t c = 0; c < n * kOutputs; ++c)
          codes[v].push_back(Dot(views[v] + c / kOutputs * kInputs, &w[c % kOutputs * kInputs]));
      for (std::size_t i = 0; i < n; ++i, ++pairs) {  // which of the second views belongs to i?
        for (std::size_t j = 0; j < n; ++j)
          p[j] = Dot(&codes[0][i * kOutputs], &codes[1][j * kOutputs], kOutputs);
        const float most = *std::max_element(p.begin(), p.end());
        float sum = 0;
        for (float& value : p)
          sum += value = std::exp(value - most);
        loss -= std::log(std::max(p[i] / sum, 1e-9F));
        found += p[i] == 1;  // exp(0): no other view is more likely
        for (std::size_t j = 0; j < n; ++j) {
          const float slope = p[j] / sum - (i == j ? 1.F : 0.F);
          Add(slope, &codes[1][j * kOutputs], &slopes[0][i * kOutputs], kOutputs);
          Add(slope, &codes[0][i * kOutputs], &slopes[1][j * kOutputs], kOutputs);
        }
      }
      for (std::size_t v = 0; v < 2; ++v)
        for (std::size_t c = 0; c < n * kOutputs; ++c)
          Add(-kRate * slopes[v][c], views[v] + c / kOutputs * kInputs, &w[c % kOutputs * kInputs]);
    }
    std::printf("epoch %d: loss %.3f, %.0f%% found\n", epoch, loss / pairs, 100 * found / pairs);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "train_contrastive: %s\n", error.what());
  return 1;
}
