// Which samples make up a batch: fills slots with the work to be done. Used by one thread.
#pragma once

#include <optional>
#include <vector>

#include "reader/order/order.h"
#include "reader/pipeline/slot.h"

namespace sluice {

// Batches of an epoch, and samples in them, for a number of samples in the dataset.
struct EpochSize {
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;  // handed out, those of LastBatch::kPad included

  static EpochSize Of(std::uint64_t samples, std::size_t batch_size, LastBatch last) noexcept;
};

// The part of the options that makes up the order.
OrderOptions OrderOptionsOf(const LoaderOptions& options);

class BatchPlanner {
 public:
  // `dataset` and `options` must outlive the planner.
  BatchPlanner(DatasetState& dataset, const LoaderOptions& options);

  // Fills the slot for a batch and makes what it needs resident. Throws Error where a shard cannot
  // be opened.
  void Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot);

 private:
  DatasetState& dataset_;
  const LoaderOptions& options_;
  OrderOptions order_options_;
  std::uint64_t epoch_ = 0;
  std::optional<EpochOrder> order_;  // of epoch_
  std::uint64_t first_epoch_ = 0;    // the first that was planned
  bool any_planned_ = false;
  std::vector<std::uint64_t> opened_;
};

}  // namespace sluice
