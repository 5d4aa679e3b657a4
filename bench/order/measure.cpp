#include "bench/order/measure.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <unordered_set>

#include <malloc.h>

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kCountedBatches = 42;   // batches in which classes are counted
constexpr std::uint64_t kCheckEvery = 1 << 20;  // draws between two looks at the stop token
constexpr std::uint64_t kShardBytes = 64'000'000;

// One epoch's order: position to sample.
class Drawn {
 public:
  virtual ~Drawn() = default;
  virtual std::uint64_t At(std::uint64_t position) = 0;
};

class OfLoader : public Drawn {
 public:
  OfLoader(const OrderTask& task, Shuffle shuffle, std::uint64_t epoch)
      : order_(*task.shape, {shuffle, task.seed, task.lanes, 0, 0}, epoch) {}
  std::uint64_t At(std::uint64_t position) override {
    opened_.clear();
    return order_.At(position, opened_).index;
  }

 private:
  EpochOrder order_;
  std::vector<std::uint64_t> opened_;
};

// The usual way: a shuffled list of all samples.
class OfList : public Drawn {
 public:
  OfList(const OrderTask& task, std::uint64_t epoch) : samples_(task.shape->samples()) {
    std::iota(samples_.begin(), samples_.end(), std::uint64_t{0});
    std::mt19937_64 random(task.seed * 1'000'003 + epoch);
    std::shuffle(samples_.begin(), samples_.end(), random);
  }
  std::uint64_t At(std::uint64_t position) override { return samples_[position]; }

 private:
  std::vector<std::uint64_t> samples_;
};

using Make = std::function<std::unique_ptr<Drawn>(std::uint64_t epoch)>;

// Sets up an epoch and draws all of it.
void MeasureEpoch(const OrderTask& task, const Make& make, std::uint64_t epoch,
                  OrderFigures& figures, const std::stop_token& stop) {
  const std::uint64_t samples = task.shape->samples();
  const std::uint64_t heap = HeapBytes();
  const Clock::time_point begin = Clock::now();
  const std::unique_ptr<Drawn> order = make(epoch);
  figures.setup_seconds.push_back(SecondsSince(begin));
  std::uint64_t sum = 0;  // used below, so that no draw is left out
  const Clock::time_point drawing = Clock::now();
  for (std::uint64_t position = 0; position < samples; ++position) {
    if (position % kCheckEvery == 0) ThrowIfStopped(stop);
    sum += order->At(position);
  }
  figures.draw_nanoseconds.push_back(1e9 * SecondsSince(drawing) /
                                     static_cast<double>(std::max<std::uint64_t>(samples, 1)));
  [[maybe_unused]] const volatile std::uint64_t kept = sum;
  const std::uint64_t now = HeapBytes();
  figures.memory_bytes = std::max(figures.memory_bytes, now > heap ? now - heap : 0);
}

// The mean over batches from all over the epoch. Lanes open windows in step with each other, so the
// distance between two batches must have no factor that the windows' lengths might have.
double DistinctClasses(const OrderTask& task, const ClassLayout& layout, Drawn& order) {
  const std::uint64_t samples = task.shape->samples();
  const std::uint64_t batch = std::min(task.batch, samples);
  const std::uint64_t whole = samples / batch;
  const std::uint64_t counted = std::min(kCountedBatches, whole);
  const std::uint64_t stride = whole / counted > 2 ? (whole / counted - 1) | 1 : 1;
  double sum = 0;
  for (std::uint64_t b = 0; b < counted; ++b) {
    std::unordered_set<std::uint32_t> classes;
    for (std::uint64_t i = 0; i < batch; ++i)
      classes.insert(layout.class_of(order.At(b * stride * batch + i)));
    sum += static_cast<double>(classes.size());
  }
  return sum / static_cast<double>(counted);
}

std::vector<std::uint32_t> Positions(const OrderTask& task, Drawn& order,
                                     const std::stop_token& stop) {
  std::vector<std::uint32_t> positions(task.shape->samples());
  for (std::uint64_t position = 0; position < positions.size(); ++position) {
    if (position % kCheckEvery == 0) ThrowIfStopped(stop);
    positions[order.At(position)] = static_cast<std::uint32_t>(position);
  }
  return positions;
}

}  // namespace

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::uint64_t HeapBytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;  // in this thread's arena, and in mapped pieces
}

double RankCorrelation(const std::vector<std::uint32_t>& before,
                       const std::vector<std::uint32_t>& after) {
  const double mean = (static_cast<double>(before.size()) - 1) / 2;
  double product = 0, square = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    product += (before[i] - mean) * (after[i] - mean);
    square += (before[i] - mean) * (before[i] - mean);
  }
  return square > 0 ? product / square : 0;
}

DatasetShape MadeUpShape(std::uint64_t samples, std::uint32_t block_samples,
                         std::uint64_t sample_bytes) {
  const std::uint64_t blocks = std::max<std::uint64_t>(
      1, kShardBytes / std::max<std::uint64_t>(1, sample_bytes * block_samples));
  std::vector<DatasetShape::Shard> shards;
  for (std::uint64_t left = samples; left > 0;) {
    const std::uint64_t here = std::min(left, blocks * block_samples);
    shards.push_back(
        {here, (here + block_samples - 1) / block_samples, block_samples, here * sample_bytes});
    left -= here;
  }
  return DatasetShape(std::move(shards));
}

std::vector<OrderFigures> MeasureOrders(const OrderTask& task, const std::stop_token& stop) {
  std::vector<OrderFigures> figures;
  std::vector<Make> makes;
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    OrderFigures one;
    one.mode = NameOf(shuffle);
    figures.push_back(std::move(one));
    makes.push_back([&task, shuffle](std::uint64_t epoch) {
      return std::make_unique<OfLoader>(task, shuffle, epoch);
    });
  }
  figures.emplace_back().mode = "list";
  makes.push_back([&task](std::uint64_t epoch) { return std::make_unique<OfList>(task, epoch); });

  for (std::uint64_t round = 0; round < task.rounds; ++round) {
    for (std::size_t m = 0; m < makes.size(); ++m)
      MeasureEpoch(task, makes[m], round, figures[m], stop);
  }
  const bool ranked = task.shape->samples() <= task.most_ranked && task.shape->samples() > 1;
  for (std::size_t m = 0; m < makes.size(); ++m) {
    ThrowIfStopped(stop);
    for (const ClassLayout& layout : task.layouts)
      figures[m].classes.push_back(DistinctClasses(task, layout, *makes[m](0)));
    if (ranked) {
      figures[m].rank_correlation =
          RankCorrelation(Positions(task, *makes[m](0), stop), Positions(task, *makes[m](1), stop));
    }
  }
  return figures;
}

}  // namespace sluice::bench
