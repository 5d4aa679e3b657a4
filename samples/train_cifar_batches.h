// The source of train_cifar's batches: Sluice, one epoch of it that is kept and played again, or a
// plain loader of files to compare with.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/cpu.h>
#include <sluice/loader.h>
#include <sluice/torch.h>

#include "plain_loader.h"

inline const std::vector<float> kMean = {0.4914F, 0.4822F, 0.4465F};
inline const std::vector<float> kDeviation = {0.2470F, 0.2435F, 0.2616F};

struct BatchOptions {
  std::size_t batch_size = 512;
  unsigned threads = 0;  // 0: all CPUs
  bool training = true;  // shuffled; random crops out of a mirrored border of 4 pixels, and flips
  unsigned cutout = 0;   // > 0: fills a square of that side with the mean, if training
  at::Device device = at::kCPU;
};

// Epochs of normalised images and labels on the device. Images: samples x 3 x 32 x 32, channels
// last, bfloat16 on a GPU.
class Batches {
 public:
  using Step = std::function<void(const at::Tensor& images, const at::Tensor& labels)>;
  virtual ~Batches() = default;
  virtual std::size_t per_epoch() const = 0;
  virtual void Play(std::uint64_t epoch, const Step& step) = 0;
  virtual std::string Verdict() { return {}; }  // the loader's bottleneck, if it reports one
};

class SluiceBatches final : public Batches {
 public:
  SluiceBatches(const std::string& dataset, const BatchOptions& from)
      : loader_(sluice::Dataset::Open(dataset), OptionsFrom(from)) {}

  std::size_t per_epoch() const override { return loader_.batches_per_epoch(); }
  void Play(std::uint64_t epoch, const Step& step) override {
    for (const sluice::Batch& batch : loader_.Epoch(epoch))
      step(sluice::ImageTensor(batch), sluice::LabelTensor(batch));
  }
  std::string Verdict() override { return loader_.Stats().Verdict(); }

 private:
  static sluice::LoaderOptions OptionsFrom(const BatchOptions& from) {
    sluice::LoaderOptions options;
    options.batch_size = from.batch_size;
    if (from.threads > 0) options.threads = from.threads;
    if (from.device.is_cuda()) options.device = sluice::Device::Cuda(from.device.index());
    if (from.training) {
      options.transform = {sluice::RandomCrop(32, 4, sluice::Border::kReflect),
                           sluice::HorizontalFlip()};
      if (from.cutout > 0) {
        const double share = from.cutout * from.cutout / (32.0 * 32.0);
        options.transform.push_back(
            sluice::RandomErasing(1).scale(share, share).ratio(1, 1).with_value({125, 123, 114}));
      }
      options.ranks.last_batch = sluice::LastBatch::kDrop;
    } else {
      options.order.shuffle = sluice::Shuffle::kSequential;
    }
    options.transform.push_back(sluice::Normalize{
        kMean, kDeviation,
        from.device.is_cuda() ? sluice::FloatType::kBFloat16 : sluice::FloatType::kFloat32});
    return options;
  }

  sluice::Loader loader_;
};

// Keeps the batches of another loader's first epoch on the device and plays them in each epoch: the
// time of a training in which loading costs nothing.
class KeptBatches final : public Batches {
 public:
  explicit KeptBatches(Batches& from) {
    from.Play(0, [this](const at::Tensor& images, const at::Tensor& labels) {
      kept_.emplace_back(images.clone(), labels.clone());
    });
  }

  std::size_t per_epoch() const override { return kept_.size(); }
  void Play(std::uint64_t, const Step& step) override {
    for (const auto& [images, labels] : kept_)
      step(images, labels);
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> kept_;
};

// Loads unconverted files, in folders named after their classes, by samples/plain_loader.h.
class NaiveBatches final : public Batches {
 public:
  NaiveBatches(const std::filesystem::path& folder, const BatchOptions& from)
      : from_(from), files_(FilesIn(folder)), loader_(files_.names, OptionsFrom(from)) {}

  std::size_t per_epoch() const override {
    return from_.training ? loader_.size() / from_.batch_size : loader_.batches();
  }
  void Play(std::uint64_t epoch, const Step& step) override {
    const at::Tensor mean = at::tensor(kMean, from_.device).view({1, 3, 1, 1});
    const at::Tensor deviation = at::tensor(kDeviation, from_.device).view({1, 3, 1, 1});
    loader_.Play(epoch, [&](const PlainBatch& batch) {
      const auto samples = static_cast<std::int64_t>(batch.samples.size());
      if (from_.training && batch.samples.size() < from_.batch_size) return;
      std::vector<std::int64_t> labels;
      for (const std::uint32_t sample : batch.samples)
        labels.push_back(files_.labels[sample]);
      const at::Tensor pixels = at::from_blob(const_cast<std::uint8_t*>(batch.pixels.data()),
                                              {samples, 32, 32, 3}, at::kByte);
      // This always copies, since the loader overwrites its memory.
      const at::Tensor images = pixels.to(from_.device, at::kFloat).permute({0, 3, 1, 2});
      step(((images / 255 - mean) / deviation)
               .to(from_.device.is_cuda() ? at::kBFloat16 : at::kFloat),
           at::tensor(labels).to(from_.device));
    });
  }

 private:
  struct Files {
    std::vector<std::string> names;
    std::vector<std::int64_t> labels;
  };
  static Files FilesIn(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> classes;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.is_directory()) classes.push_back(entry.path());
    std::sort(classes.begin(), classes.end());
    Files files;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (const auto& entry : std::filesystem::directory_iterator(classes[c])) {
        files.names.push_back(entry.path().string());
        files.labels.push_back(static_cast<std::int64_t>(c));
      }
    }
    return files;
  }
  static PlainOptions OptionsFrom(const BatchOptions& from) {
    PlainOptions options;
    options.batch_size = from.batch_size;
    options.threads = from.threads != 0 ? from.threads : sluice::AvailableCpus();
    options.side = 32;
    options.augment = from.training ? PlainAugment::kPaddedCrop : PlainAugment::kNone;
    return options;
  }

  BatchOptions from_;
  Files files_;
  PlainLoader loader_;
};
