// Trains a linear classifier (softmax regression) on the pixels of any labelled dataset: the
// smallest training loop there is around sluice::Loader.
//
//   sluice convert photos/ data/photos
//   train_softmax data/photos 20
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <sluice/error.h>
#include <sluice/loader.h>

constexpr std::size_t kSide = 32;  // every image becomes kSide x kSide pixels
constexpr float kLearningRate = 0.0003F;

// One weight for each pair of input and class, and one bias for each class.
struct Classifier {
  std::size_t inputs, classes;
  std::vector<float> weights = std::vector<float>(inputs * classes);
  std::vector<float> biases = std::vector<float>(classes);

  // Computes the probability of each class.
  void Predict(const std::vector<float>& x, std::vector<float>& p) const {
    for (std::size_t c = 0; c < classes; ++c) {
      p[c] = biases[c];
      for (std::size_t i = 0; i < inputs; ++i)
        p[c] += weights[c * inputs + i] * x[i];
    }
    const float largest = *std::max_element(p.begin(), p.end());
    float sum = 0;
    for (float& value : p)
      sum += value = std::exp(value - largest);
    for (float& value : p)
      value /= sum;
  }

  // Takes one step down the gradient of -log p[label].
  void Learn(const std::vector<float>& x, const std::vector<float>& p, std::size_t label) {
    for (std::size_t c = 0; c < classes; ++c) {
      const float step = kLearningRate * ((c == label ? 1.F : 0.F) - p[c]);
      for (std::size_t i = 0; i < inputs; ++i)
        weights[c * inputs + i] += step * x[i];
      biases[c] += step;
    }
  }
};

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: train_softmax DATASET EPOCHS\n");
    return 2;
  }
  const int epochs = std::stoi(argv[2]);
  const sluice::Dataset dataset = sluice::Dataset::Open(argv[1]);
  const std::size_t classes = dataset.class_counts().size();
  if (classes < 2)
    throw sluice::Error(sluice::ErrorCode::kInvalidArgument, argv[1], "has no labels");

  sluice::LoaderOptions options;
  options.batch_size = 64;
  options.output.channels = 3;
  options.transform = {sluice::Resize(kSide), sluice::HorizontalFlip()};
  sluice::Loader loader(dataset, options);

  Classifier classifier{kSide * kSide * 3, classes};
  std::vector<float> x(classifier.inputs), p(classes);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    const double waited = loader.Stats().consumer_wait_seconds;
    double loss = 0, right = 0;
    for (const sluice::Batch& batch : loader.Epoch(epoch)) {
      const auto labels = batch.Field<std::int32_t>("label");
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::uint8_t* pixels = batch.image().data + i * classifier.inputs;
        std::transform(pixels, pixels + x.size(), x.begin(),
                       [](float v) { return v / 127.5F - 1; });
        const auto label = static_cast<std::size_t>(labels[i]);
        classifier.Predict(x, p);
        loss -= std::log(std::max(p[label], 1e-9F));
        right += std::max_element(p.begin(), p.end()) - p.begin() == labels[i];
        classifier.Learn(x, p, label);
      }
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const double images = static_cast<double>(loader.samples_per_epoch());
    std::printf("epoch %d: loss %.3f, accuracy %.1f%%, %.2f s, %.1f%% of it waiting for data\n",
                epoch + 1, loss / images, 100 * right / images, taken.count(),
                100 * (loader.Stats().consumer_wait_seconds - waited) / taken.count());
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "train_softmax: %s\n", error.what());
  return 1;
}
