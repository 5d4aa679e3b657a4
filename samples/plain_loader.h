// A loader of JPEG files with threads, as a person would write it before looking for a library.
//
// Shuffles each epoch's files. Each thread takes one file after another, decodes all of it with
// libjpeg-turbo, crops a random part (torchvision's random-resized-crop), resizes the part with an
// anti-aliasing filter, mirrors half of the pictures, and writes the pixels into their row of a
// ring of batches. Batches are delivered in order. The loader serves as a comparison: `sluice-bench
// compare` plays it next to Sluice.
//
//   PlainLoader loader({"a.jpg", "b.jpg"}, {.batch_size = 2});
//   loader.Play(0, [](const PlainBatch& batch) { Train(batch.pixels, batch.samples); });
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <turbojpeg.h>

enum class PlainAugment {
  kRandomResizedCrop,  // and flip
  kPaddedCrop,         // and flip; crops from the picture with a mirrored border of 4 pixels
  kNone,               // resized only
};

struct PlainOptions {
  std::size_t batch_size = 256;
  unsigned threads = 2;
  std::size_t side = 224;  // of the square output
  PlainAugment augment = PlainAugment::kRandomResizedCrop;
  std::size_t prefetch = 2;  // batches decoded ahead
  std::uint64_t seed = 0;
};

struct PlainBatch {
  std::span<const std::uint8_t> pixels;    // samples x side x side x 3
  std::span<const std::uint32_t> samples;  // their indices in the list of files
};

// A part of a picture, in pixels.
struct PlainCrop {
  std::size_t x = 0, y = 0, width = 0, height = 0;
};

// One thread's decoder. It reuses its memory for the next picture.
class PlainDecoder {
 public:
  PlainDecoder() : handle_(tjInitDecompress(), tjDestroy) {}

  // Reads and decodes a file; throws std::runtime_error with its name.
  void Load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    int width = 0, height = 0, subsampling = 0, colours = 0;
    const auto* const data = reinterpret_cast<const unsigned char*>(bytes_.data());
    if (!file || tjDecompressHeader3(handle_.get(), data, bytes_.size(), &width, &height,
                                     &subsampling, &colours) != 0) {
      throw std::runtime_error(path + ": cannot be read as a JPEG");
    }
    width_ = static_cast<std::size_t>(width);
    height_ = static_cast<std::size_t>(height);
    frame_.resize(width_ * height_ * 3);
    // After a warning (a truncated file, say), there is still a picture.
    if (tjDecompress2(handle_.get(), data, bytes_.size(), frame_.data(), width, 0, height, TJPF_RGB,
                      0) != 0 &&
        tjGetErrorCode(handle_.get()) == TJERR_FATAL) {
      throw std::runtime_error(path + ": " + tjGetErrorStr2(handle_.get()));
    }
  }
  std::size_t width() const noexcept { return width_; }
  std::size_t height() const noexcept { return height_; }

  // Resizes the part of the picture to side x side pixels, first in height, then in width. The
  // triangle filter reaches to either side by the width of an output pixel, but at least by that of
  // an input pixel.
  void Resize(const PlainCrop& crop, std::size_t side, bool flip, std::uint8_t* out) {
    MakeWeights(crop.width, side, across_);
    MakeWeights(crop.height, side, down_);
    lines_.resize(side * crop.width * 3);
    for (std::size_t j = 0; j < side; ++j) {
      float* const line = &lines_[j * crop.width * 3];
      std::fill_n(line, crop.width * 3, 0.F);
      for (std::size_t k = 0; k < down_.count; ++k) {
        const float weight = down_.weights[j * down_.count + k];
        if (weight == 0) continue;
        const std::uint8_t* const row =
            &frame_[((crop.y + down_.first[j] + k) * width_ + crop.x) * 3];
        for (std::size_t v = 0; v < crop.width * 3; ++v)
          line[v] += weight * static_cast<float>(row[v]);
      }
    }
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t i = 0; i < side; ++i) {
        float sum[3] = {0.5F, 0.5F, 0.5F};
        const float* pixel = &lines_[(j * crop.width + across_.first[i]) * 3];
        for (std::size_t k = 0; k < across_.count; ++k, pixel += 3) {
          const float weight = across_.weights[i * across_.count + k];
          for (std::size_t c = 0; c < 3; ++c)
            sum[c] += weight * pixel[c];
        }
        std::uint8_t* const target = out + (j * side + (flip ? side - 1 - i : i)) * 3;
        for (std::size_t c = 0; c < 3; ++c)
          target[c] = static_cast<std::uint8_t>(std::clamp(sum[c], 0.F, 255.F));
      }
    }
  }

  // Crops side x side pixels at (x, y). Outside the picture, its pixels are mirrored at the
  // outermost row or column; the crop may reach beyond the picture by less than the picture's side.
  void Cut(std::ptrdiff_t x, std::ptrdiff_t y, std::size_t side, bool flip, std::uint8_t* out) {
    for (std::size_t j = 0; j < side; ++j) {
      const std::size_t at_y = Mirrored(y + static_cast<std::ptrdiff_t>(j), height_);
      for (std::size_t i = 0; i < side; ++i) {
        const std::size_t at_x = Mirrored(x + static_cast<std::ptrdiff_t>(i), width_);
        std::uint8_t* const target = out + (j * side + (flip ? side - 1 - i : i)) * 3;
        std::copy_n(&frame_[(at_y * width_ + at_x) * 3], 3, target);
      }
    }
  }

 private:
  // For each output pixel, `count` weights, beginning at input pixel `first`. Unused weights are 0.
  struct Weights {
    std::size_t count = 0;
    std::vector<std::size_t> first;
    std::vector<float> weights;
  };

  static std::size_t Mirrored(std::ptrdiff_t at, std::size_t size) {
    const auto last = static_cast<std::ptrdiff_t>(size) - 1;
    return static_cast<std::size_t>(last - std::abs(last - std::abs(at)));
  }

  static void MakeWeights(std::size_t in, std::size_t out, Weights& made) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double reach = std::max(1.0, scale);
    made.count = std::min(in, static_cast<std::size_t>(std::ceil(2 * reach)) + 1);
    made.first.resize(out);
    made.weights.assign(out * made.count, 0.F);
    for (std::size_t i = 0; i < out; ++i) {
      const double centre = (static_cast<double>(i) + 0.5) * scale;
      const auto begin = static_cast<std::size_t>(std::max(0.0, std::floor(centre - reach + 0.5)));
      const std::size_t end =
          std::min(in, static_cast<std::size_t>(std::max(0.0, std::floor(centre + reach + 0.5))));
      made.first[i] = std::min(begin, in - made.count);
      float sum = 0;
      for (std::size_t s = made.first[i]; s < made.first[i] + made.count; ++s) {
        const double distance = std::fabs(static_cast<double>(s) + 0.5 - centre) / reach;
        const bool inside = s >= begin && s < end && distance < 1;
        const float weight = inside ? static_cast<float>(1 - distance) : 0.F;
        made.weights[i * made.count + s - made.first[i]] = weight;
        sum += weight;
      }
      for (std::size_t k = 0; k < made.count; ++k)
        made.weights[i * made.count + k] /= sum;
    }
  }

  std::unique_ptr<void, int (*)(tjhandle)> handle_;
  std::vector<char> bytes_;
  std::vector<std::uint8_t> frame_;
  std::size_t width_ = 0, height_ = 0;
  Weights across_, down_;
  std::vector<float> lines_;
};

// Draws a crop by torchvision's rule: 8% to 100% of the area, aspect ratio 3/4 to 4/3. If ten
// attempts do not fit into the picture, returns the largest part in its middle that has such a
// ratio.
inline PlainCrop DrawCrop(std::size_t width, std::size_t height, std::mt19937_64& random) {
  std::uniform_real_distribution<double> area(0.08, 1), ratio(std::log(3.0 / 4), std::log(4.0 / 3));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double pixels = static_cast<double>(width * height) * area(random);
    const double aspect = std::exp(ratio(random));
    const auto w = static_cast<std::size_t>(std::lround(std::sqrt(pixels * aspect)));
    const auto h = static_cast<std::size_t>(std::lround(std::sqrt(pixels / aspect)));
    if (w == 0 || h == 0 || w > width || h > height) continue;
    return {std::uniform_int_distribution<std::size_t>(0, width - w)(random),
            std::uniform_int_distribution<std::size_t>(0, height - h)(random), w, h};
  }
  const std::size_t w = std::min(width, height * 4 / 3), h = std::min(height, width * 4 / 3);
  return {(width - w) / 2, (height - h) / 2, w, h};
}

class PlainLoader {
 public:
  PlainLoader(std::vector<std::string> files, const PlainOptions& options)
      : files_(std::move(files)), options_(options), order_(files_.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    ring_.resize(options_.prefetch + 1);
    for (Slot& slot : ring_)
      slot.pixels.resize(options_.batch_size * RowBytes());
  }

  std::size_t size() const noexcept { return files_.size(); }
  std::size_t batches() const noexcept {
    return (files_.size() + options_.batch_size - 1) / options_.batch_size;
  }

  // Plays one epoch. Calls `consume` with each batch on the calling thread; the batch is valid
  // until `consume` returns. Rethrows an exception of a worker thread or of `consume`.
  template <class Consume>
  void Play(std::uint64_t epoch, Consume consume) {
    std::mt19937_64 random(options_.seed ^ (epoch + 1) * 0x9E3779B97F4A7C15ULL);
    std::shuffle(order_.begin(), order_.end(), random);
    next_ = 0;
    consumed_ = 0;
    failure_ = nullptr;
    for (std::size_t b = 0; b < ring_.size(); ++b)
      ring_[b].left = RowsOf(b);
    std::vector<std::jthread> threads;
    const Ender ender{*this};  // makes the threads end before they are joined
    for (unsigned t = 0; t < options_.threads; ++t)
      threads.emplace_back([this, epoch] { Work(epoch); });
    for (std::size_t b = 0; b < batches(); ++b) {
      Slot& slot = ring_[b % ring_.size()];
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return slot.left == 0 || failure_; });
        if (failure_) std::rethrow_exception(failure_);
      }
      consume(PlainBatch{std::span(slot.pixels).first(RowsOf(b) * RowBytes()),
                         std::span(order_).subspan(b * options_.batch_size, RowsOf(b))});
      {
        const std::lock_guard lock(mutex_);
        ++consumed_;
        slot.left = RowsOf(b + ring_.size());
      }
      changed_.notify_all();
    }
  }

 private:
  struct Slot {
    std::vector<std::uint8_t> pixels;
    std::size_t left = 0;  // rows not decoded yet
  };
  // Ends the worker threads: leaves them no file to take, and no reason to wait for room.
  struct Ender {
    PlainLoader& loader;
    ~Ender() {
      {
        const std::lock_guard lock(loader.mutex_);
        loader.next_ = loader.files_.size();
        loader.consumed_ = loader.batches();
      }
      loader.changed_.notify_all();
    }
  };

  std::size_t RowBytes() const noexcept { return options_.side * options_.side * 3; }
  std::size_t RowsOf(std::size_t batch) const noexcept {
    const std::size_t begin = std::min(batch * options_.batch_size, files_.size());
    return std::min(options_.batch_size, files_.size() - begin);
  }

  void Work(std::uint64_t epoch) {
    PlainDecoder decoder;
    try {
      for (;;) {
        const std::size_t place = next_.fetch_add(1);
        if (place >= files_.size()) return;
        const std::size_t batch = place / options_.batch_size;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return batch < consumed_ + ring_.size(); });
          if (failure_) return;
        }
        DecodeRow(epoch, place, decoder);
        bool done = false;
        {
          const std::lock_guard lock(mutex_);
          done = --ring_[batch % ring_.size()].left == 0;
        }
        if (done) changed_.notify_all();
      }
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        consumed_ = batches();
      }
      changed_.notify_all();
    }
  }

  void DecodeRow(std::uint64_t epoch, std::size_t place, PlainDecoder& decoder) {
    const std::size_t file = order_[place];
    std::seed_seq seed{options_.seed, epoch, std::uint64_t{file}};
    std::mt19937_64 random(seed);
    decoder.Load(files_[file]);
    const std::size_t row = place % options_.batch_size;
    Slot& slot = ring_[place / options_.batch_size % ring_.size()];
    std::uint8_t* const out = &slot.pixels[row * RowBytes()];
    switch (options_.augment) {
      case PlainAugment::kRandomResizedCrop: {
        const PlainCrop crop = DrawCrop(decoder.width(), decoder.height(), random);
        decoder.Resize(crop, options_.side, (random() & 1) != 0, out);
        break;
      }
      case PlainAugment::kPaddedCrop: {
        constexpr std::ptrdiff_t kPadding = 4;
        const auto last_x = static_cast<std::ptrdiff_t>(decoder.width() - options_.side);
        const auto last_y = static_cast<std::ptrdiff_t>(decoder.height() - options_.side);
        std::uniform_int_distribution<std::ptrdiff_t> x(-kPadding, last_x + kPadding);
        std::uniform_int_distribution<std::ptrdiff_t> y(-kPadding, last_y + kPadding);
        const std::ptrdiff_t left = x(random);
        decoder.Cut(left, y(random), options_.side, (random() & 1) != 0, out);
        break;
      }
      case PlainAugment::kNone:
        decoder.Resize({0, 0, decoder.width(), decoder.height()}, options_.side, false, out);
        break;
    }
  }

  std::vector<std::string> files_;
  PlainOptions options_;
  std::vector<std::uint32_t> order_;  // the epoch's files, by index
  std::vector<Slot> ring_;
  std::atomic<std::size_t> next_{0};  // the place in order_ of the next file to decode
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t consumed_ = 0;  // batches that the consumer has finished with
  std::exception_ptr failure_;
};
