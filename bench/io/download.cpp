#include "bench/io/download.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <random>

#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kRange = std::uint64_t{8} << 20;
constexpr std::uint64_t kLeastInFlight = 8 * kRange;

double DownloadRate(std::uint64_t bytes, Clock::time_point begin) {
  const std::chrono::duration<double> taken = Clock::now() - begin;
  return static_cast<double>(bytes) / std::max(taken.count(), 1e-9);
}

std::uint64_t InFlight(const ObjectStore& store) {
  return std::max(kLeastInFlight, store.UsefulBytesInFlight());
}

// Ranges one after another, with many in flight, and their bytes dropped as they come.
class Download {
 public:
  explicit Download(ObjectStore& store) : store_(store) {}
  ~Download() {
    for (const std::uint64_t ticket : tickets_)
      store_.Cancel(ticket);
  }

  void Ask(const std::string& object, std::uint64_t offset, std::uint64_t bytes) {
    WaitFor(InFlight(store_));
    {
      const MutexLock lock(mutex_);
      in_flight_ += bytes;
    }
    RangeRead read;
    read.object = object;
    read.offset = offset;
    read.bytes = bytes;
    read.take = [](Bytes) {};
    read.done = [this, bytes](const Error* error) {
      const MutexLock lock(mutex_);
      if (error != nullptr && !error_) {
        error_.emplace(error->code(), error->file(), error->place(), error->sentence());
      }
      in_flight_ -= bytes;
      changed_.NotifyAll();
    };
    tickets_.push_back(store_.Read(std::move(read)));
  }
  void Finish() { WaitFor(0); }

 private:
  void WaitFor(std::uint64_t most) {
    const MutexLock lock(mutex_);
    while (in_flight_ > most)
      changed_.Wait(mutex_);
    if (error_) throw *error_;
  }

  ObjectStore& store_;
  std::vector<std::uint64_t> tickets_;
  Mutex mutex_;
  Condition changed_;
  std::uint64_t in_flight_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

double DownloadInOrder(const DatasetState& dataset, const std::stop_token& stop) {
  const Clock::time_point begin = Clock::now();
  std::uint64_t all = 0;
  Download download(*dataset.store);
  for (const ShardSummary& shard : dataset.shards) {
    for (std::uint64_t offset = 0; offset < shard.bytes; offset += kRange) {
      ThrowIfStopped(stop);
      download.Ask(shard.file, offset, std::min(kRange, shard.bytes - offset));
    }
    all += shard.bytes;
  }
  download.Finish();
  return DownloadRate(all, begin);
}

double FetchBlocks(DatasetState& dataset, std::uint64_t round, std::uint64_t& requests,
                   const std::stop_token& stop) {
  std::vector<std::vector<ShardParts::Held>> frames;
  for (std::uint32_t s = 0; s < dataset.shards.size(); ++s)
    frames.push_back(dataset.BeginOpening(s));
  for (std::uint32_t s = 0; s < dataset.shards.size(); ++s)
    dataset.Shard(s);  // opening is not fetching
  std::vector<std::uint64_t> blocks(dataset.shape.blocks());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    blocks[i] = i;
  std::mt19937_64 random(round);
  std::shuffle(blocks.begin(), blocks.end(), random);

  struct Asked {
    ShardParts::Held held;
    std::uint64_t bytes;
  };
  std::deque<Asked> in_flight;
  std::uint64_t waiting = 0;
  std::uint64_t all = 0;
  const auto finish_one = [&] {
    dataset.remote->Await(in_flight.front().held);
    waiting -= in_flight.front().bytes;
    in_flight.pop_front();
  };
  const std::uint64_t requests_before = dataset.store->counts().requests;
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ThrowIfStopped(stop);
    const SampleRef first = dataset.shape.Row(blocks[i], 0);
    const ShardUse shard = dataset.Shard(first.shard);
    const ShardParts::Block parts = shard->PartsOf(first.block);
    const std::uint64_t bytes = parts.bytes(true);
    in_flight.push_back({dataset.remote->Begin(first.shard, parts.whole(), {i, 0}), bytes});
    dataset.remote->Flush();
    waiting += bytes;
    all += bytes;
    while (waiting > InFlight(*dataset.store))
      finish_one();
  }
  while (!in_flight.empty())
    finish_one();
  const double rate = DownloadRate(all, begin);
  requests = dataset.store->counts().requests - requests_before;
  return rate;
}

}  // namespace

DownloadRates MeasureDownload(const Dataset& dataset, std::uint64_t rounds,
                              const std::stop_token& stop) {
  DownloadRates rates;
  for (const ShardSummary& shard : dataset.shards())
    rates.bytes += shard.bytes;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    rates.download.push_back(DownloadInOrder(*dataset.state(), stop));
    // Anew, so that nothing is there yet.
    DatasetState fresh(*dataset.state(), MapAdvice::kNormal);
    rates.blocks.push_back(FetchBlocks(fresh, round, rates.block_requests, stop));
  }
  rates.repeated_requests = dataset.state()->store->counts().repeated;
  return rates;
}

}  // namespace sluice::bench
