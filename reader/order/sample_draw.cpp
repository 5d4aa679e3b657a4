// A draw must be the same on every machine, so weights become whole numbers first and all sums are
// exact. A weighted draw finds each sample in a tree of prefix sums, and takes the weight out of
// the tree unless samples may repeat. The result is in ascending order, as a quasi-random order
// needs it.
//
// BatchLists holds its mutex while the user's function runs: a second thread that asks for the same
// epoch waits and gets the same lists. Lists that are wrong are not kept, so the next call asks the
// function again. A thread that runs a function cannot be ended. So with a timeout, the function
// has a thread of its own: the waiting one can give up, and the next call waits for the same
// result. A function that exceeds the timeout when the Loader ends is left behind.
#include "reader/order/sample_draw.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <thread>

#include <sluice/error.h>

#include "format/random.h"
#include "reader/order/permutation.h"

namespace sluice {

namespace {

// Prefix sums of weights that can be removed one by one: a binary indexed tree (Fenwick 1994).
class WeightTree {
 public:
  explicit WeightTree(std::span<const std::uint64_t> weights) : sums_(weights.size() + 1) {
    for (std::size_t i = 1; i < sums_.size(); ++i) {
      sums_[i] += weights[i - 1];
      total_ += weights[i - 1];
      const std::size_t parent = i + (i & (0 - i));
      if (parent < sums_.size()) sums_[parent] += sums_[i];
    }
  }
  std::uint64_t total() const noexcept { return total_; }

  // The index i for which (sum of weights before i) <= at < (sum of weights up to and with i).
  std::size_t Find(std::uint64_t at) const noexcept {
    std::size_t found = 0;
    for (std::size_t step = std::bit_floor(sums_.size() - 1); step > 0; step /= 2) {
      if (found + step < sums_.size() && sums_[found + step] <= at) {
        found += step;
        at -= sums_[found];
      }
    }
    return found;
  }

  void Take(std::size_t index, std::uint64_t weight) noexcept {
    total_ -= weight;
    for (std::size_t i = index + 1; i < sums_.size(); i += i & (0 - i))
      sums_[i] -= weight;
  }

 private:
  std::vector<std::uint64_t> sums_;
  std::uint64_t total_ = 0;
};

std::vector<std::uint64_t> DrawWeighted(const WeightedDraw& draw, RandomStream random,
                                        StopFlag give_up) {
  WeightTree tree(draw.weights);
  std::vector<std::uint64_t> samples;
  samples.reserve(draw.count);
  for (std::uint64_t i = 0; i < draw.count; ++i) {
    ThrowIfGivenUp(give_up);
    const std::size_t sample = tree.Find(random.Below(tree.total()));
    if (!draw.replacement) tree.Take(sample, draw.weights[sample]);
    samples.push_back(sample);
  }
  return samples;
}

std::vector<std::uint64_t> DrawBalanced(const BalancedDraw& draw, RandomStream random,
                                        StopFlag give_up) {
  std::vector<std::uint64_t> samples;
  samples.reserve(draw.classes.size() * draw.per_class);
  for (const std::vector<std::uint64_t>& members : draw.classes) {
    for (std::uint64_t round = 0; round < draw.per_class / members.size(); ++round) {
      ThrowIfGivenUp(give_up);
      samples.insert(samples.end(), members.begin(), members.end());
    }
    // Every member comes equally often, except in the last, incomplete round.
    const Permutation chosen(members.size(), random.Word64());
    for (std::uint64_t i = 0; i < draw.per_class % members.size(); ++i)
      samples.push_back(members[chosen(i)]);
  }
  return samples;
}

}  // namespace

std::vector<std::uint64_t> WholeWeights(const std::vector<double>& weights) {
  std::vector<std::uint64_t> whole(weights.size(), 0);
  const double most = weights.empty() ? 0 : *std::ranges::max_element(weights);
  if (most <= 0) return whole;
  // The largest weight becomes 2^bits. Division, powers of two and rounding are the same on all
  // machines.
  const int bits = std::min(40, 62 - static_cast<int>(std::bit_width(weights.size())));
  const auto scale = static_cast<double>(std::uint64_t{1} << bits);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto rounded = static_cast<std::uint64_t>(weights[i] / most * scale + 0.5);
    whole[i] = weights[i] > 0 ? std::max<std::uint64_t>(rounded, 1) : 0;
  }
  return whole;
}

std::uint64_t CountOf(const SampleDraw& draw) noexcept {
  if (const auto* fixed = std::get_if<FixedDraw>(&draw)) return fixed->samples.size();
  if (const auto* weighted = std::get_if<WeightedDraw>(&draw)) return weighted->count;
  if (const auto* mixture = std::get_if<MixtureDraw>(&draw)) return mixture->plan->positions();
  const auto* balanced = std::get_if<BalancedDraw>(&draw);
  const std::uint64_t classes = balanced->classes.size();
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  if (classes > 0 && balanced->per_class > kMost / classes) return kMost;
  return classes * balanced->per_class;
}

std::vector<std::uint64_t> Draw(const SampleDraw& draw, std::uint64_t seed, std::uint64_t epoch,
                                StopFlag give_up) {
  if (const auto* fixed = std::get_if<FixedDraw>(&draw)) return fixed->samples;
  const RandomStream random(seed, Purpose::kSampleDraw, epoch);
  const auto* weighted = std::get_if<WeightedDraw>(&draw);
  std::vector<std::uint64_t> samples =
      weighted != nullptr ? DrawWeighted(*weighted, random, give_up)
                          : DrawBalanced(std::get<BalancedDraw>(draw), random, give_up);
  std::ranges::sort(samples);
  return samples;
}

namespace {

// kInvalidArgument, because only the user can correct what the function returned.
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
  if (kept_.size() > kMaxKept) kept_.pop_front();
  return kept_.back().batches;
}

BatchLists::~BatchLists() {
  const MutexLock lock(mutex_);
  if (running_.valid()) running_.wait_for(timeout_);
}

std::optional<BatchSampler::Lists> BatchLists::Call(std::uint64_t epoch) {
  if (timeout_.count() == 0) return function_(seed_, epoch);
  for (;;) {
    if (!running_.valid()) {
      std::promise<BatchSampler::Lists> promise;
      running_ = promise.get_future();
      running_epoch_ = epoch;
      std::thread([promise = std::move(promise), function = function_, seed = seed_,
                   epoch]() mutable {
        try {
          BatchSampler::Lists lists = function(seed, epoch);
          function = nullptr;  // the waiting caller may then destroy what it refers to
          promise.set_value(std::move(lists));
        } catch (...) {
          function = nullptr;
          promise.set_exception(std::current_exception());
        }
      }).detach();
    }
    if (running_.wait_for(timeout_) != std::future_status::ready) return std::nullopt;
    auto ended = std::move(running_);
    if (running_epoch_ == epoch) return ended.get();
  }
}

std::shared_ptr<const EpochBatches> BatchLists::Make(std::uint64_t epoch) {
  const auto threw = [epoch](const std::string& what) {
    return Error(ErrorCode::kState, "", "epoch " + std::to_string(epoch),
                 "LoaderOptions::order.batches threw" + what);
  };
  std::optional<BatchSampler::Lists> returned;
  try {
    returned = Call(epoch);
  } catch (const std::exception& error) {
    throw threw(": " + std::string(error.what()));
  } catch (...) {
    throw threw(" something that is not a std::exception");
  }
  if (!returned) {
    throw Error(ErrorCode::kIo, "", "epoch " + std::to_string(epoch),
                "LoaderOptions::order.batches has not returned within " +
                    std::to_string(timeout_.count()) +
                    " ms (LoaderOptions::timeout); make the function faster, or raise the timeout; "
                    "the next call waits for it again");
  }
  const BatchSampler::Lists& lists = *returned;
  if (lists.empty()) RefuseLists(epoch, "", "no batches; give at least one");
  if (!lists.sizes.empty() && lists.sizes.size() != lists.size()) {
    RefuseLists(epoch, "",
                std::to_string(lists.sizes.size()) + " sizes for " + std::to_string(lists.size()) +
                    " batches; give a size for each batch, or none");
  }
  std::uint64_t samples = 0;
  for (const auto& list : lists)
    samples += list.size();
  most_samples_ = std::max<std::uint64_t>(most_samples_, samples);
  most_batches_ = std::max<std::uint64_t>(most_batches_, lists.size());
  auto batches = std::make_shared<EpochBatches>();
  batches->samples.reserve(samples);
  batches->begins.reserve(lists.size() + 1);
  batches->sizes = lists.sizes;
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
