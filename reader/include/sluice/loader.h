// The loader, which plays a dataset as epochs of batches, with the range and the iterator of an
// epoch.
#pragma once

#include <chrono>
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
#include <sluice/error.h>
#include <sluice/loader_memory.h>
#include <sluice/loader_options.h>
#include <sluice/loader_stats.h>
#include <sluice/loader_trace.h>
#include <sluice/metrics.h>
#include <sluice/mixture.h>
#include <sluice/sample_fault.h>

namespace sluice {

struct LoaderState;  // private

// Input iterator over the batches of an epoch. ++ drops the iterator's batch and waits for the next
// one. It throws:
//
//   the Error of a sample in the next batch that cannot be read (see OnFault);
//   Error(kState) if the consumer holds every slot, if another Epoch() has ended this one, if
//   another thread plays the range, or if the Loader is gone;
//   Error(kIo) after LoaderOptions::timeout;
//   Error(kMemory) if memory runs out.
//
// After ++ has thrown, the iterator holds no batch, but is not at its end: call ++ again to resume.
// If ++ threw because a sample cannot be read, the next ++ gives the batch after the failed one; if
// that was the last batch, the epoch ends. If you held every slot, first drop some of your Batch
// handles; ++ then gives the batch that was due. An iterator without a batch throws Error(kState)
// for * and ->. begin() behaves like ++: after it has thrown, call it again.
//
// All iterators of a range share its batches: each begin() and each ++, of any iterator, takes the
// next batch, and no batch comes twice. Only one thread at a time may play a range. A thread plays
// it from begin() until its iterator is at the end or destroyed, and during Next(). Meanwhile,
// begin(), ++ and Next() throw Error(kState) in any other thread, and take no batch. (An iterator
// may be moved to another thread, which then plays the range.)
class EpochIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using pointer = const Batch*;
  using reference = const Batch&;

  // The batch. Throws Error(kState) if the iterator has none.
  reference operator*() const {
    if (batch_.slot_ == nullptr) ThrowNoBatch();
    return batch_;
  }
  // Returns a pointer to the batch, and throws as operator*() does.
  pointer operator->() const { return &**this; }
  // Drops the batch and waits for the next one.
  EpochIterator& operator++();
  // Does the same as ++it, and returns nothing.
  void operator++(int) { ++*this; }
  friend bool operator==(const EpochIterator& it, std::default_sentinel_t) { return it.done_; }

 private:
  friend class EpochRange;
  EpochIterator(std::shared_ptr<LoaderState> loader, std::uint64_t range);
  [[noreturn]] void ThrowNoBatch() const;
  std::shared_ptr<LoaderState> loader_;
  std::uint64_t range_;
  std::shared_ptr<const char> mark_;  // identifies the walk; copies of an iterator share it
  Batch batch_;
  bool done_ = false;
};

// An epoch that is being played: a range of batches, for one walk through it.
class EpochRange {
 public:
  // Waits for the next batch, and returns an iterator at it. Throws like EpochIterator's ++.
  EpochIterator begin() const { return EpochIterator(loader_, range_); }
  // The end of the epoch.
  std::default_sentinel_t end() const { return {}; }

  // The next batch, or nothing at the end of the epoch: for callers that hold batches in their own
  // way, without an iterator. Waits and throws like EpochIterator's ++; call it again to resume.
  std::optional<Batch> Next() const;
  // Waits until Next() or ++ would return or throw at once: a batch is ready, or the range is over.
  // With LoaderOptions::threads = 0, waits only until Next() has something to decode. Returns false
  // if `most` passes first. This is for callers that must look at something else meanwhile, such as
  // a request to stop.
  bool WaitFor(std::chrono::milliseconds most) const;

 private:
  friend class Loader;
  EpochRange(std::shared_ptr<LoaderState> loader, std::uint64_t range)
      : loader_(std::move(loader)), range_(range) {}
  std::shared_ptr<LoaderState> loader_;
  std::uint64_t range_;
};

// A row of a training's plan: Loader::When().
struct PlayedRow {
  std::uint64_t sample = 0;    // the sample's number in the dataset
  std::uint64_t epoch = 0;     // the epoch that plays the row
  std::uint64_t batch = 0;     // the batch's number in the epoch: Batch::index()
  unsigned rank = 0;           // the process that plays the batch
  std::uint64_t row = 0;       // in the batch of that rank
  std::uint64_t position = 0;  // the place in the epoch's order; random steps draw by it (DRAWS.md)
  friend bool operator==(const PlayedRow&, const PlayedRow&) = default;
};

// Consecutive batches of an epoch: Loader::Epoch().
struct EpochPart {
  std::uint64_t first = 0;           // the number of the first batch (Batch::index())
  std::uint64_t count = UINT64_MAX;  // UINT64_MAX: all that follow
};

// A loader: it plays epochs of batches from a dataset. Worker threads decode the batches ahead.
//
//   sluice::LoaderOptions options;
//   options.batch_size = 256;
//   options.transform = {sluice::RandomResizedCrop(224), sluice::HorizontalFlip()};
//   sluice::Loader loader(sluice::Dataset::Open("data/photos"), options);
//   for (int epoch = 0; epoch < 90; ++epoch)
//     for (const sluice::Batch& batch : loader.Epoch(epoch))
//       Train(batch.image().data, batch.Field<std::int32_t>("label"));
//
// Batches are a pure function of (dataset, options, epoch), and come in order. Options about speed
// and memory, such as `threads` and `ring`, do not change them. Loader::Memory() gives an upper
// bound on the memory.
//
// Only one thread at a time may take batches (see EpochIterator). Any thread may hold and drop
// Batch handles. In a forked child, a loader of the parent plays nothing: it throws
// Error(kState), and its memory is kept until the child ends.
class Loader {
 public:
  // Plays one dataset. Throws Error(kInvalidArgument) for options that do not fit the dataset, for
  // instance images of different sizes without a transform that makes them equal. Throws
  // Error(kLimit) if there is not enough memory, or if there can be no more threads.
  explicit Loader(Dataset dataset, LoaderOptions options = {});
  // Plays several datasets as one: see mixture.h. Throws Error(kInvalidArgument) if
  //
  //   the schemas of the datasets do not fit each other;
  //   a dataset does not lie in files that can be mapped;
  //   `stage` or storage = Direct is set;
  //   there are weights, and also order.samples, order.batches, ranks.by_shards or
  //   Shuffle::kSequential.
  explicit Loader(const Mixture& mixture, LoaderOptions options = {});
  ~Loader();                  // waits until each thread has finished its current sample
  Loader(Loader&&) noexcept;  // the moved-from Loader may only be destroyed or assigned to
  Loader& operator=(Loader&&) noexcept;

  // Starts playing the epoch `epoch`. A Loader plays one epoch at a time, so this call ends earlier
  // ranges, even one in which a thread is waiting. If such a range had batches left, its next ++ or
  // Next() throws Error(kState). A range may be dropped at any time. To play two epochs at once,
  // for instance to validate in mid-epoch, make a second Loader.
  //
  // Consecutive epochs (n, n + 1, ...) flow into one another: the first batches of epoch n + 1 are
  // decoded while the last batches of epoch n are in use. LoaderOptions::resume_from names an
  // epoch and a place in it: the first Epoch() of that epoch begins there.
  EpochRange Epoch(std::uint64_t epoch);
  // Plays only these batches of the epoch, to look at them again. With the options and the rank of
  // a training, they have the bytes that they had in the training. No batch after them is decoded
  // ahead. resume_from has no effect on them. Throws Error(kInvalidArgument) if the epoch does not
  // have the batches.
  EpochRange Epoch(std::uint64_t epoch, EpochPart part);

  // Says when a training with these options plays the samples. Returns all rows that have one of
  // `samples` in one of `epochs`, on all ranks, in the order of epochs, batches, ranks and rows.
  // Repeats are included (lists, mixtures), and so are rows that only fill up the last batch. Rows
  // that show a sample beside their own, as Mosaic's do, are not: Batch::parts() names these.
  // Batches that OrderOptions::skip leaves out are not included, but those before resume_from are.
  //
  // The rows are those of the plan. Samples that cannot be read change what is played
  // (IntegrityOptions::on_fault); Faults() lists them.
  //
  // Each epoch's order is made once in a call, which takes about 1 ms for a million samples. With
  // order.batches, the call asks your function. Memory() does not include what a call needs: memory
  // for an epoch's order, and for the rows.
  //
  // Throws Error(kInvalidArgument) for a sample beyond the dataset's end. Any thread may call this.
  std::vector<PlayedRow> When(std::span<const std::uint64_t> samples,
                              std::span<const std::uint64_t> epochs) const;
  // The same without a loader: nothing is read or decoded, and images may differ in size. Also
  // throws Error(kInvalidArgument) for options that Loader() refuses because of the order.
  static std::vector<PlayedRow> When(const Dataset& dataset, LoaderOptions options,
                                     std::span<const std::uint64_t> samples,
                                     std::span<const std::uint64_t> epochs);

  // Makes one row, to look at augmentations: the row that Epoch(epoch) has for that sample, but
  // without MixUp, CutMix, CopyPaste and batch_function, which need a whole batch. If the sample
  // comes several times (in a list), this is its first row. The returned batch is on the host.
  //
  // The calling thread decodes the row. All calls of Row() work in the same memory (and, if
  // thread_setup is set, with the same object), so a second caller waits until the first call
  // returns. Finding the sample's position takes as long as a call of When().
  //
  // Throws Error(kInvalidArgument) if the epoch does not have the sample. If the sample cannot be
  // read, Row() throws the sample's Error, whatever on_fault says. Any thread may call this, also
  // while an epoch is played.
  Batch Row(std::uint64_t sample, std::uint64_t epoch) const;
  // The pipeline of that epoch as JSON: the steps that make an image into its row, the size,
  // channels and layout of the row, and the names of the label's classes. From this text,
  // Preprocess (<sluice/preprocess.h>) makes the same rows in a server. If the names would make the
  // text longer than the 1 MB that Preprocess reads, they are left out.
  //
  // Throws Error(kInvalidArgument) if the rows depend on something that the text cannot hold: your
  // own functions, views, LoaderOptions::keep with random crops, masks, images that are not 8-bit
  // pictures of up to four channels, or images that differ in size.
  std::string PipelineText(std::uint64_t epoch = 0) const;

  // The point from which a training can resume: where the consumer stands.
  //
  //   before the first Epoch()    LoaderOptions::resume_from, or else the start of epoch 0
  //   after Epoch()               the start of the range that it returned
  //   after a batch               the position after the last batch handed over
  //   at the end of an epoch      the start of the next epoch
  //
  // A batch that threw an Error counts as not played until a later batch is handed over. Any thread
  // may call this.
  ResumePoint State() const;

  // The number of batches that this rank gets in an epoch, with RankOptions::last_batch applied.
  // This number is the same in every epoch, except with LoaderOptions::ranks.by_shards,
  // order.batches and order.skip. With `part`, it is the number of batches in that part.
  std::uint64_t batches_per_epoch(std::uint64_t epoch = 0, EpochPart part = {}) const;
  // The number of samples in those batches.
  std::uint64_t samples_per_epoch(std::uint64_t epoch = 0) const;
  Rank rank() const noexcept;         // this process, as set or found
  unsigned threads() const noexcept;  // decoding threads; 0: the caller's thread decodes
  // The most bytes that the slots take together, fixed when the loader is made. Variable-length and
  // bytes fields are not included: see Memory().
  std::size_t memory_bytes() const noexcept;
  // Lines of text for people: how each step of the transform runs (fused with decoding, in a pass
  // of its own, over the whole batch), and the shape and type of the result.
  std::string Describe() const;
  LoaderMemory Memory() const;  // an upper bound on everything this loader allocates
  // The loader's measurements since the first Epoch(). Any thread may call this at any time.
  LoaderStats Stats() const;
  // The samples that could not be read so far, sorted by number; at most 10,000 of them are kept.
  std::vector<SampleFault> Faults() const;

 private:
  std::shared_ptr<LoaderState> state_;
};

}  // namespace sluice
