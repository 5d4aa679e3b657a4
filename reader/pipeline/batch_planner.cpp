#include "reader/pipeline/batch_planner.h"

#include <algorithm>

#include "reader/pipeline/read_ahead.h"

namespace sluice {

EpochSize EpochSize::Of(std::uint64_t samples, std::size_t batch_size, LastBatch last) noexcept {
  EpochSize size;
  size.batches =
      last == LastBatch::kDrop ? samples / batch_size : (samples + batch_size - 1) / batch_size;
  size.samples = last == LastBatch::kKeep ? samples : size.batches * batch_size;
  return size;
}

OrderOptions OrderOptionsOf(const LoaderOptions& options) {
  return {options.shuffle, options.seed, options.lanes, options.window_bytes};
}

BatchPlanner::BatchPlanner(DatasetState& dataset, const LoaderOptions& options)
    : dataset_(dataset), options_(options), order_options_(OrderOptionsOf(options)) {}

void BatchPlanner::Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot) {
  if (!order_ || epoch != epoch_) {
    order_.emplace(dataset_.shape, order_options_, epoch);
    epoch_ = epoch;
  }
  if (!any_planned_) first_epoch_ = epoch;
  any_planned_ = true;

  const std::uint64_t total = dataset_.manifest.samples;
  const std::uint64_t first = batch * options_.batch_size;
  slot.epoch = epoch;
  slot.index = batch;
  slot.valid = std::min<std::uint64_t>(options_.batch_size, total - first);
  slot.size = options_.last_batch == LastBatch::kPad ? options_.batch_size : slot.valid;
  slot.image.samples = slot.size;
  slot.draw_seed = DrawSeed(options_.seed, epoch);
  slot.verify = options_.verify == Verify::kAlways ||
                (options_.verify == Verify::kFirstEpoch && epoch == first_epoch_);
  opened_.clear();
  for (std::size_t row = 0; row < slot.size; ++row) {
    const std::uint64_t position = row < slot.valid ? first + row : (row - slot.valid) % total;
    slot.positions[row] = position;
    slot.refs[row] = order_->At(position, opened_);
    slot.samples[row] = slot.refs[row].index;
  }
  ReadAhead(dataset_, opened_);
}

}  // namespace sluice
