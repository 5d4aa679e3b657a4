// A ring of slots lies between the workers and the one consumer. Index i uses slot i mod the number
// of slots.
//
// A worker takes the next index once its slot is free, and puts the result there. The bytes of
// results that wait are bounded, except for the next one in order, which everything else waits for.
// Waking a thread may take longer than making a result, so the consumer is usually woken only when
// half the ring is filled, and otherwise looks every few milliseconds.
#include "writer/convert/ordered_pipeline.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace sluice {

namespace {

constexpr std::uint64_t kOutcomesPerThread = 8;
constexpr std::uint64_t kMaxWaitingBytes = 64 << 20;
// How long a ready result may wait for the consumer.
constexpr std::chrono::milliseconds kMaxDelay{5};

std::uint64_t BytesOf(const Outcome& outcome) noexcept {
  std::uint64_t bytes = sizeof(outcome) + outcome.sample.key.size();
  for (const FieldValue& value : outcome.sample.fields)
    bytes += value.bytes.size();
  return bytes;
}

class Pipeline {
 public:
  Pipeline(unsigned threads, std::uint64_t count,
           const std::function<Outcome(unsigned, std::uint64_t)>& produce)
      : count_(count), produce_(produce), slots_(threads * kOutcomesPerThread) {
    workers_.reserve(threads);
    try {
      for (unsigned worker = 0; worker < threads; ++worker) {
        workers_.emplace_back([this, worker] { Work(worker); });
      }
    } catch (...) {
      // The system did not start this thread; the work can be done by those that it started.
      if (!workers_.empty()) return;
      throw;
    }
  }
  ~Pipeline() { End(nullptr); }

  // The outcome of the next index, or nullopt after End().
  std::optional<Outcome> Next() {
    std::unique_lock lock(mutex_);
    std::optional<Outcome>& slot = slots_[next_out_ % slots_.size()];
    while (!ended_ && !slot)
      ready_.wait_for(lock, kMaxDelay);
    if (ended_) return std::nullopt;
    std::optional<Outcome> outcome;
    outcome.swap(slot);
    waiting_bytes_ -= BytesOf(*outcome);
    ++next_out_;
    --filled_;
    room_.notify_all();
    return outcome;
  }

  void End(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!ended_) error_ = std::move(error);
    ended_ = true;
    ready_.notify_all();
    room_.notify_all();
  }

  void RethrowError() {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void Work(unsigned worker) {
    try {
      while (const std::optional<std::uint64_t> index = Take()) {
        Put(*index, produce_(worker, *index));
      }
    } catch (...) {
      End(std::current_exception());
    }
  }

  // The next index to work on, once there is a slot for it.
  std::optional<std::uint64_t> Take() {
    std::unique_lock lock(mutex_);
    if (next_in_ == next_out_ + slots_.size()) ready_.notify_one();
    room_.wait(
        lock, [&] { return ended_ || next_in_ == count_ || next_in_ < next_out_ + slots_.size(); });
    if (ended_ || next_in_ == count_) return std::nullopt;
    return next_in_++;
  }

  void Put(std::uint64_t index, Outcome outcome) {
    const std::uint64_t bytes = BytesOf(outcome);
    std::unique_lock lock(mutex_);
    if (waiting_bytes_ + bytes > kMaxWaitingBytes) ready_.notify_one();
    // The next result in order is always let in: everything else waits for it.
    room_.wait(lock, [&] {
      return ended_ || index == next_out_ || waiting_bytes_ + bytes <= kMaxWaitingBytes;
    });
    if (ended_) return;
    waiting_bytes_ += bytes;
    slots_[index % slots_.size()] = std::move(outcome);
    ++filled_;
    // The consumer is woken for several results at once: waking it may take longer than making one.
    if (filled_ >= slots_.size() / 2 || index + 1 == count_) ready_.notify_one();
  }

  const std::uint64_t count_;
  const std::function<Outcome(unsigned, std::uint64_t)>& produce_;

  std::mutex mutex_;
  std::condition_variable room_;   // for workers: a slot or bytes became free
  std::condition_variable ready_;  // for the consumer: there are results, or no more will come
  std::vector<std::optional<Outcome>> slots_;  // index i uses slot i mod their number
  std::uint64_t next_in_ = 0;
  std::uint64_t next_out_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t filled_ = 0;  // number of slots with a result
  bool ended_ = false;
  std::exception_ptr error_;
  std::vector<std::jthread> workers_;  // last member: joined before the others are destroyed
};

}  // namespace

void RunInOrder(unsigned threads, std::uint64_t count, const std::stop_token& stop,
                const std::function<Outcome(unsigned worker, std::uint64_t index)>& produce,
                const std::function<void(std::uint64_t index, Outcome&& outcome)>& consume) {
  Pipeline pipeline(threads, count, produce);
  const std::stop_callback on_stop(stop, [&pipeline] { pipeline.End(nullptr); });
  for (std::uint64_t index = 0; index < count; ++index) {
    std::optional<Outcome> outcome = pipeline.Next();
    if (!outcome) {
      pipeline.RethrowError();
      ThrowStopped();
    }
    consume(index, std::move(*outcome));
  }
}

}  // namespace sluice
