#include "bench/epoch_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <sluice/error.h>

#include "bench/floor.h"
#include "bench/page_cache.h"
#include "bench/process_usage.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class EpochRunner {
 public:
  EpochRunner(const EpochOptions& options, const EpochHooks& hooks)
      : options_(options), hooks_(hooks) {}

  EpochsRun Run() {
    LoaderStats before;
    for (std::uint64_t epoch = 0; epoch < options_.warm_up + options_.epochs; ++epoch) {
      if (loader_ && epoch == options_.warm_up) before = loader_->Stats();
      EpochFigures figures = options_.cold ? PlayCold(epoch) : PlayWarm(epoch);
      figures.warm_up = epoch < options_.warm_up;
      const MemoryUse memory = CurrentMemory();
      figures.peak_bytes = memory.peak_bytes;
      figures.anonymous_bytes = memory.anonymous_bytes;
      run_.epochs.push_back(figures);
      if (hooks_.on_epoch) hooks_.on_epoch(figures);
    }
    // A loader of its own for each epoch has no earlier figures.
    run_.verdict = loader_->Stats().Since(options_.cold ? LoaderStats() : before).Verdict();
    loader_.reset();  // it decodes ahead: nothing may run beside the floor
    if (options_.floor) MeasureFloor();
    return std::move(run_);
  }

 private:
  void MakeLoader() {
    Dataset dataset = Dataset::Open(options_.dataset);
    run_.samples = dataset.size();
    run_.dataset_bytes = 0;
    for (const ShardSummary& shard : dataset.shards())
      run_.dataset_bytes += shard.bytes;
    loader_.emplace(std::move(dataset), options_.loader);
    run_.threads = loader_->threads();
    run_.slot_bytes = loader_->memory_bytes();
    run_.memory = loader_->Memory();
  }

  EpochFigures PlayWarm(std::uint64_t epoch) {
    if (!loader_) MakeLoader();
    EpochFigures figures;
    const auto begin = Clock::now();
    const double cpu = CpuSeconds();
    Play(epoch, figures);
    figures.seconds = SecondsSince(begin);
    figures.cpu_seconds = CpuSeconds() - cpu;
    return figures;
  }

  EpochFigures PlayCold(std::uint64_t epoch) {
    loader_.reset();
    EpochFigures figures;
    const auto files = DatasetFiles(options_.dataset);
    DropFromPageCache(files);
    figures.left_in_cache_bytes = InPageCache(files).resident_bytes;
    const auto begin = Clock::now();
    const double cpu = CpuSeconds();
    MakeLoader();
    Play(epoch, figures);
    figures.seconds = SecondsSince(begin);
    figures.cpu_seconds = CpuSeconds() - cpu;
    return figures;
  }

  void Play(std::uint64_t epoch, EpochFigures& figures) {
    const LoaderStats before = loader_->Stats();
    const std::uint64_t images_in_all = loader_->samples_per_epoch();
    for (const Batch& batch : loader_->Epoch(epoch)) {
      if (run_.first_batch_seconds == 0) {
        run_.first_batch_seconds = SecondsSinceStart();
        run_.height = batch.image().height;
        run_.width = batch.image().width;
        run_.channels = batch.image().channels;
      }
      figures.images += batch.valid();
      ++figures.batches;
      if (options_.step_ms > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.step_ms));
      }
      if (hooks_.stop.stop_requested()) throw Interrupted();
      if (hooks_.on_batch) hooks_.on_batch(epoch, figures.images, images_in_all);
    }
    const LoaderStats after = loader_->Stats();
    figures.bytes_read = after.payload_bytes - before.payload_bytes;
    figures.read_ahead_bytes = after.read_ahead_bytes - before.read_ahead_bytes;
    figures.decode_major_faults = after.decode_major_faults - before.decode_major_faults;
    figures.wait_seconds = after.consumer_wait_seconds - before.consumer_wait_seconds;
  }

  void MeasureFloor() {
    Floor floor(options_, run_.threads);
    floor.Round();  // touches every page once
    std::vector<double> rates;
    for (std::uint64_t round = 0; round < options_.epochs; ++round) {
      if (hooks_.stop.stop_requested()) throw Interrupted();
      rates.push_back(floor.Round());
    }
    const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
    std::nth_element(rates.begin(), middle, rates.end());
    run_.floor = {floor.work(), *middle};
  }

  const EpochOptions& options_;
  const EpochHooks& hooks_;
  EpochsRun run_;
  std::optional<Loader> loader_;
};

}  // namespace

Pipeline DefaultTransform(const Dataset& dataset) {
  if (dataset.images().empty() || dataset.images().front().uniform()) return {};
  return {RandomResizedCrop(224)};
}

EpochsRun RunEpochs(const EpochOptions& options, const EpochHooks& hooks) {
  return EpochRunner(options, hooks).Run();
}

}  // namespace sluice::bench
