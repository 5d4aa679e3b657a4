// A trainer on the simulated device: a stream, and kernels that record what they read.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/device/simulated_device.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

namespace sluice::test {

// A gate that is closed until it is opened; threads wait at it.
class Gate {
 public:
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// Opens the gate when the test ends, however it ends.
struct GateOpener {
  Gate& gate;
  ~GateOpener() { gate.Open(); }
};

class Trainer {
 public:
  explicit Trainer(SimulatedDevice::Before before = {})
      : device(std::make_shared<SimulatedDevice>(std::move(before))), stream(device->NewStream()) {}
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer() { device->FreeStream(stream); }

  Device where() const { return DeviceAccess::DeviceOf(device); }

  // The image and labels of a batch as a kernel read them.
  struct Seen {
    std::vector<std::uint64_t> samples;
    std::vector<std::uint8_t> pixels;
    std::vector<std::int32_t> labels;
  };

  // Starts a kernel that calls `before` and then reads the batch when its turn comes. The caller
  // may drop the batch at once.
  const Seen& Read(const Batch& batch, std::function<void()> before = {}) {
    Seen& seen = seen_.emplace_back();
    seen.samples.assign(batch.samples().begin(), batch.samples().end());
    batch.WaitOn({stream});
    const ImageBatch image = batch.image();
    const DeviceSpan<std::int32_t> labels = batch.DeviceField<std::int32_t>("label");
    device->Run(stream, [&seen, image, labels, before = std::move(before)] {
      if (before) before();
      seen.pixels.assign(image.data, image.data + image.samples * image.sample_bytes());
      seen.labels.assign(labels.data, labels.data + labels.size);
    });
    return seen;
  }
  void Finish() { device->Drain(stream); }

  const std::deque<Seen>& seen() const { return seen_; }

  const std::shared_ptr<SimulatedDevice> device;
  const DeviceDriver::Stream stream;

 private:
  std::deque<Seen> seen_;
};

// For WriteRawDataset(): checks that each pixel and label belongs to its sample.
inline void RequireWhole(const Trainer::Seen& seen) {
  REQUIRE(seen.pixels.size() == seen.samples.size() * 192);
  REQUIRE(seen.labels.size() == seen.samples.size());
  for (std::size_t row = 0; row < seen.samples.size(); ++row) {
    REQUIRE(seen.labels[row] == static_cast<std::int32_t>(seen.samples[row] % 10));
    for (std::size_t i = 0; i < 192; ++i)
      REQUIRE(seen.pixels[row * 192 + i] == seen.samples[row] % 251);
  }
}

// Waits for the trainer's kernels, and checks that everything that they read was complete.
inline void FinishWhole(Trainer& trainer) {
  trainer.Finish();
  for (const Trainer::Seen& seen : trainer.seen())
    RequireWhole(seen);
}

inline LoaderOptions DeviceOptions(const Trainer& trainer, std::size_t batch_size = 10,
                                   unsigned threads = 2) {
  LoaderOptions options = OptionsFor(batch_size, threads);
  options.device = trainer.where();
  return options;
}

}  // namespace sluice::test
