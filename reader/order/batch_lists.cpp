#include "reader/order/batch_lists.h"

#include <algorithm>
#include <string>

#include <sluice/error.h>

namespace sluice {

namespace {

// What the function returned must be put right by the user.
[[noreturn]] void RefuseLists(std::uint64_t epoch, const std::string& place,
                              const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "", "epoch " + std::to_string(epoch) + place,
              "LoaderOptions::order.batches gave " + what);
}

}  // namespace

std::shared_ptr<const EpochBatches> BatchLists::Of(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  for (const Kept& kept : kept_)
    if (kept.epoch == epoch) return kept.batches;
  kept_.push_back({epoch, Make(epoch)});
  if (kept_.size() > kMostKept) kept_.pop_front();
  return kept_.back().batches;
}

std::shared_ptr<const EpochBatches> BatchLists::Make(std::uint64_t epoch) {
  const auto threw = [epoch](const std::string& what) {
    return Error(ErrorCode::kState, "", "epoch " + std::to_string(epoch),
                 "LoaderOptions::order.batches threw" + what);
  };
  BatchSampler::Lists lists;
  try {
    lists = function_(seed_, epoch);
  } catch (const std::exception& error) {
    throw threw(": " + std::string(error.what()));
  } catch (...) {
    throw threw(" something that is no std::exception");
  }
  if (lists.empty()) RefuseLists(epoch, "", "no batches; give at least one");
  std::uint64_t samples = 0;
  for (const auto& list : lists)
    samples += list.size();
  most_samples_ = std::max<std::uint64_t>(most_samples_, samples);
  most_batches_ = std::max<std::uint64_t>(most_batches_, lists.size());
  auto batches = std::make_shared<EpochBatches>();
  batches->samples.reserve(samples);
  batches->begins.reserve(lists.size() + 1);
  batches->begins.push_back(0);
  for (std::size_t b = 0; b < lists.size(); ++b) {
    const std::string place = ", batch " + std::to_string(b);
    if (lists[b].empty()) RefuseLists(epoch, place, "an empty batch; leave it out");
    if (lists[b].size() > most_) {
      RefuseLists(epoch, place,
                  std::to_string(lists[b].size()) + " samples, and a batch has room for " +
                      std::to_string(most_) + " (batch_size x world_size); raise batch_size");
    }
    for (const std::uint64_t sample : lists[b]) {
      if (sample < samples_) continue;
      RefuseLists(epoch, place,
                  "sample number " + std::to_string(sample) + ", and the dataset has " +
                      std::to_string(samples_) + " samples, numbered from 0");
    }
    batches->samples.insert(batches->samples.end(), lists[b].begin(), lists[b].end());
    batches->begins.push_back(batches->samples.size());
  }
  return batches;
}

}  // namespace sluice
