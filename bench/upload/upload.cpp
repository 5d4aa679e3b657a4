#include "bench/upload/upload.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "bench/machine/process_usage.h"
#include "bench/report/statistics.h"
#include "bench/upload/bare_copies.h"
#include "format/disk/bytes.h"
#include "format/random.h"
#include "reader/batch/slot.h"
#include "reader/batch/uploader.h"
#include "reader/transform/pixel_steps.h"

namespace sluice::bench {

namespace {

constexpr std::size_t kUploadPlaces = 4;  // slots in a loader's ring, by default
constexpr std::size_t kTimelineBatches = 16;

using UploadClock = std::chrono::steady_clock;

double UploadRateOf(std::uint64_t bytes, UploadClock::time_point begin) {
  return double(bytes) / std::chrono::duration<double>(UploadClock::now() - begin).count();
}

PixelProgram UploadProgramOf(const UploadShape& shape) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, what);
  };
  Pipeline steps = shape.steps;
  for (const Transform& step : steps)
    if (!ChangesPixels(step)) refuse("upload measures only steps that change pixels");
  if (shape.type) steps.push_back(Normalize{{0.5F}, {0.25F}, *shape.type});
  PixelProgram program(steps, DevicePart::kSteps);
  if (program.steps_here() > 0)
    refuse("the transform has more steps than a device can run, and upload measures no others");
  const auto side = static_cast<std::uint32_t>(shape.side);
  program.CheckSize(side, side, 3);
  return program;
}

// A slot's layout with images and a label, and the description for the device.
SlotLayout UploadLayoutOf(const UploadShape& shape, const PixelProgram& program) {
  SlotLayout layout;
  layout.batch_size = shape.batch_size;
  layout.image_field = 0;
  layout.image.samples = shape.batch_size;
  layout.image.height = layout.image.width = shape.side;
  layout.image.channels = 3;
  layout.row_bytes = layout.image.sample_bytes();
  layout.bytes = AlignUp(layout.image.sample_bytes() * shape.batch_size, kPageBytes);
  layout.arrays.push_back({1, "label", DType::kInt32, 4, layout.bytes, {}});
  layout.bytes = AlignUp(layout.bytes + 4 * shape.batch_size, kPayloadAlignment);
  layout.ops = {program.device_ops(), layout.bytes};
  layout.bytes = AlignUp(layout.bytes + layout.ops.row_bytes() * shape.batch_size, kPageBytes);
  return layout;
}

// Smooth, with grain: a step's cost on a GPU may depend on how the pixels differ.
void FillLikePictures(std::uint64_t seed, std::byte* to, std::size_t bytes) {
  for (std::size_t begin = 0; begin < bytes; begin += sizeof(Words4)) {
    const auto counter = static_cast<std::uint32_t>(begin / sizeof(Words4));
    const Words4 words = Philox(seed, {counter, 0, 0, 0});
    const std::size_t end = std::min(bytes, begin + sizeof(Words4));
    for (std::size_t at = begin; at < end; ++at) {
      const std::uint32_t grain = words[(at - begin) / 4] >> (at % 4 * 8) & 31;
      to[at] = static_cast<std::byte>((at / 16 + grain) & 255);
    }
  }
}

class UploadRun {
 public:
  UploadRun(const Device& device, std::shared_ptr<DeviceDriver> driver, const UploadShape& shape)
      : driver_(std::move(driver)),
        program_(UploadProgramOf(shape)),
        layout_(UploadLayoutOf(shape, program_)),
        uploader_(device, driver_, layout_, std::array{&program_}, shape.layout),
        trainer_(*driver_),
        done_(*driver_) {
    std::vector<const std::byte*> places;
    for (std::size_t i = 0; i < kUploadPlaces; ++i) {
      Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
      Prepare(slot, layout_, driver_);
      slot.device = uploader_.NewSlot(slot);
      slot.rows = slot.size = slot.image.samples = shape.batch_size;
      FillLikePictures(i, slot.memory.data(), slot.memory.size());
      DrawOps(slot);
      places.push_back(slot.memory.data());
    }
    copies_.emplace(*driver_, std::move(places), batch_bytes());
  }
  UploadRun(const UploadRun&) = delete;
  UploadRun& operator=(const UploadRun&) = delete;
  ~UploadRun() {
    uploader_.Finish();
    for (const std::unique_ptr<Slot>& slot : slots_)
      slot->device->Finish();
  }

  void DrawOps(const Slot& slot) const {
    auto* const first = reinterpret_cast<PixelOp*>(slot.memory.data() + layout_.ops.offset);
    const auto side = static_cast<std::uint32_t>(layout_.image.width);
    for (std::size_t row = 0; row < layout_.batch_size && layout_.ops.each > 0; ++row) {
      program_.DrawOps({nullptr, side, side, 3}, 1, row,
                       {first + row * layout_.ops.each, layout_.ops.each});
    }
  }

  // What the uploader says that it has copied; batch_bytes() is what it should.
  std::uint64_t uploaded_bytes() const { return uploader_.uploaded_bytes(); }
  std::uint64_t batch_bytes() const noexcept {
    const std::size_t image_bytes = layout_.image.sample_bytes() * layout_.batch_size;
    return image_bytes + layout_.bytes - AlignUp(image_bytes, kPageBytes);
  }

  double CopiesAlone(std::uint64_t batches) { return copies_->BytesPerSecond(batches); }

  double Uploads(std::uint64_t batches) {
    const std::atomic<bool> wanted = false;
    const UploadClock::time_point begin = UploadClock::now();
    for (std::uint64_t b = 0; b < batches; ++b) {
      Slot& slot = *slots_[b % kUploadPlaces];
      slot.device->Reclaim(wanted);
      GiveToTrainer(slot);
    }
    driver_->Record(done_.get(), trainer_.get());
    driver_->Synchronize(done_.get());
    return UploadRateOf(batches * batch_bytes(), begin);
  }

  std::vector<UploadMoments> Timeline(std::size_t batches) {
    const std::atomic<bool> wanted = false;
    std::vector<UploadMoments> timeline;
    driver_->Record(done_.get(), trainer_.get());
    driver_->Synchronize(done_.get());
    for (std::size_t b = 0; b < batches + kUploadPlaces; ++b) {
      Slot& slot = *slots_[b % kUploadPlaces];
      if (b >= kUploadPlaces) {  // the earlier batch in this place
        slot.device->Synchronize();
        timeline.push_back(MomentsOf(*slot.device));
      }
      if (b >= batches) continue;
      slot.device->Reclaim(wanted);
      GiveToTrainer(slot);
    }
    return timeline;
  }

 private:
  void GiveToTrainer(Slot& slot) {
    if (const std::optional<Error> error = uploader_.Upload(slot)) throw Error(*error);
    slot.device->WaitOn(trainer_.get());
    slot.device->Release();
  }

  // The times since done_ for a batch that is on the device.
  UploadMoments MomentsOf(const DeviceSlot& place) const {
    const auto since = [&](const OwnTimedEvent& event) {
      return driver_->SecondsBetween(done_.get(), event.get());
    };
    const double copied = since(place.copied);
    return {since(place.copy_begins), copied, program_.goes_on() ? since(place.converted) : copied};
  }

  const std::shared_ptr<DeviceDriver> driver_;
  const PixelProgram program_;
  const SlotLayout layout_;
  Uploader uploader_;
  OwnStream trainer_;
  OwnTimedEvent done_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::optional<BareCopies> copies_;  // out of the slots
};

}  // namespace

double ShareBesideCopies(const std::vector<UploadMoments>& timeline) {
  double converting = 0, beside = 0, free_since = 0;
  for (const UploadMoments& batch : timeline) {
    const double begin = std::max(batch.copy_end, free_since), end = batch.converted;
    free_since = end;
    converting += end - begin;
    for (const UploadMoments& other : timeline) {
      beside += std::max(0.0, std::min(end, other.copy_end) - std::max(begin, other.copy_begin));
    }
  }
  return converting > 0 ? beside / converting : 0;
}

double ConversionSeconds(const std::vector<UploadMoments>& timeline) {
  std::vector<double> taken;
  double free_since = 0;
  for (const UploadMoments& batch : timeline) {
    taken.push_back(batch.converted - std::max(batch.copy_end, free_since));
    free_since = batch.converted;
  }
  return Median(taken);
}

UploadRates MeasureUpload(const Device& device, std::shared_ptr<DeviceDriver> driver,
                          const UploadShape& shape, std::uint64_t batches, std::uint64_t rounds,
                          const std::stop_token& stop) {
  GpuMeter gpu(driver->BusId());
  UploadRun run(device, std::move(driver), shape);
  UploadRates rates;
  double cpu = 0, seconds = 0;
  // Not measured: the first uses of streams, memory and the kernel.
  run.CopiesAlone(kUploadPlaces);
  run.Uploads(kUploadPlaces);
  rates.batch_bytes = run.uploaded_bytes() / kUploadPlaces;
  gpu.Take();  // what was before is not counted
  for (std::uint64_t round = 0; round < rounds; ++round) {
    ThrowIfStopped(stop);
    rates.limit.push_back(run.CopiesAlone(batches));
    const double cpu_before = CpuSeconds();
    const UploadClock::time_point begin = UploadClock::now();
    rates.uploads.push_back(run.Uploads(batches));
    seconds += std::chrono::duration<double>(UploadClock::now() - begin).count();
    cpu += CpuSeconds() - cpu_before;
  }
  rates.cpus_busy = seconds > 0 ? cpu / seconds : 0;
  rates.gpu = gpu.Take();
  rates.timeline = run.Timeline(kTimelineBatches);
  return rates;
}

}  // namespace sluice::bench
