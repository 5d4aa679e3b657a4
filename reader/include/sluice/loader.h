// The loader: epochs of batches from a dataset, decoded ahead by worker threads.
//
//   sluice::LoaderOptions options;
//   options.batch_size = 256;
//   options.transform = {sluice::RandomResizedCrop(224), sluice::HorizontalFlip()};
//   sluice::Loader loader(sluice::Dataset::Open("data/photos"), options);
//   for (int epoch = 0; epoch < 90; ++epoch)
//     for (const sluice::Batch& batch : loader.Epoch(epoch))
//       Train(batch.image().data, batch.Field<std::int32_t>("label"));
//
// Batches are a pure function of (dataset, options but for threads and prefetch, epoch), and come
// in order. One thread at a time consumes (see EpochIterator); Batch handles may be passed to and
// dropped by any thread. A Loader's memory is taken when it is made: see Loader::Memory().
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <sluice/batch.h>
#include <sluice/dataset.h>
#include <sluice/loader_memory.h>
#include <sluice/loader_options.h>
#include <sluice/loader_stats.h>
#include <sluice/loader_trace.h>
#include <sluice/sample_fault.h>

namespace sluice {

struct LoaderState;  // private

// Input iterator over the batches of an epoch. ++ lets go of its batch and waits for the next one;
// it throws the Error of a sample in it that cannot be read, and Error(kState) where the consumer
// holds every slot.
//
// After ++ has thrown, the iterator holds no batch, and is not at its end: ++ goes on. It gives the
// batch behind the one that could not be read (there may be none: then it is at its end); or, once
// some are dropped, the one that there was no slot for. * and -> throw Error(kState) where there is
// no batch. Where begin() itself has thrown, so it goes on when it is called again.
//
// All iterators of a range share its batches: each begin() and ++, of whichever of them, takes the
// next one, and none comes twice. One thread steps at a time. An iterator may move on to another
// thread; but begin() and ++ throw Error(kState), and take nothing, while another thread is in one
// of them, or in the middle of the range with an iterator of its own.
class EpochIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using pointer = const Batch*;
  using reference = const Batch&;

  reference operator*() const {
    if (batch_.slot_ == nullptr) ThrowNoBatch();
    return batch_;
  }
  pointer operator->() const { return &**this; }
  EpochIterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const EpochIterator& it, std::default_sentinel_t) { return it.done_; }

 private:
  friend class EpochRange;
  EpochIterator(std::shared_ptr<LoaderState> loader, std::uint64_t generation);
  [[noreturn]] void ThrowNoBatch() const;
  std::shared_ptr<LoaderState> loader_;
  std::uint64_t generation_;
  std::shared_ptr<const char> mark_;  // what copies of it share: one walk through the range
  Batch batch_;
  bool done_ = false;
};

class EpochRange {
 public:
  EpochIterator begin() const { return EpochIterator(loader_, generation_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class Loader;
  EpochRange(std::shared_ptr<LoaderState> loader, std::uint64_t generation)
      : loader_(std::move(loader)), generation_(generation) {}
  std::shared_ptr<LoaderState> loader_;
  std::uint64_t generation_;
};

class Loader {
 public:
  // Throws Error(kInvalidArgument) for options that do not fit the dataset, for instance images of
  // differing sizes without a transform that makes them equal; Error(kLimit) where memory or
  // threads do not suffice.
  explicit Loader(Dataset dataset, LoaderOptions options = {});
  ~Loader();  // stops the threads after the samples in hand
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  // Starts playing that epoch; a range begun earlier ends, for whoever waits for a batch of it,
  // too. Epochs asked for in a row (n, n + 1,
  // ...) flow into one another: the next one's first batches are decoded while the last ones are
  // used. After LoaderOptions::resume_from, the first call for its epoch plays what was left of it.
  EpochRange Epoch(std::uint64_t epoch);

  // Where the stream stands: after the batch that was handed over last, or at the beginning of the
  // epoch asked for since, or where it was resumed. A batch that came as an Error counts as not
  // played, until one after it is handed over. At the end of an epoch it is the next one's start.
  // Any thread.
  ResumePoint State() const;

  // What this rank gets in an epoch, as LastBatch makes it: the same in every one, but for
  // shards_per_rank.
  std::uint64_t batches_per_epoch(std::uint64_t epoch = 0) const;
  std::uint64_t samples_per_epoch(std::uint64_t epoch = 0) const;
  Rank rank() const noexcept;
  unsigned threads() const noexcept;
  // Of the slots: fixed when the loader is made. Variable-length and bytes fields lie beside it:
  // see Memory().
  std::size_t memory_bytes() const noexcept;
  // How each step of the transform runs (fused with decoding, in a pass of its own, over the whole
  // batch), and what comes out: lines of text for people.
  std::string Describe() const;
  LoaderMemory Memory() const;  // the bound of all that it takes
  // Since the first Epoch(). Any thread, at any time.
  LoaderStats Stats() const;
  // The samples that could not be read so far, by number; at most 10,000 of them are kept.
  std::vector<SampleFault> Faults() const;

 private:
  std::shared_ptr<LoaderState> state_;
};

}  // namespace sluice
