// Lists of samples for an epoch that does not have each sample of the dataset once: a subset, or
// samples drawn by weight or by class.
//
// Lists with random draws (Weighted(), ClassBalanced()) draw anew in each epoch. The draws depend
// only on the loader's seed and the epoch, so every thread, rank and resumed process draws the same
// samples. A list takes 8 bytes for each of its samples, and twice that while it is played. Weights
// take 8 bytes for each sample of the dataset.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/dataset.h>

namespace sluice {

struct SampleListState;  // private

// The user's function that says whether a sample is kept. It is called once for each sample, by
// several threads at once. Its answer must depend on the sample alone, because each rank and each
// resumed process asks again.
using SampleFilter = std::function<bool(const Sample&)>;

// The options of SampleList::Where().
struct FilterOptions {
  // The fields that the filter looks at, to be read ahead in large pieces. Fields that are not
  // named are read when the filter touches them. Name only bytes fields, variable-length fields,
  // and arrays of more than one element. (Scalars and keys are stored at the end of each shard, and
  // need no block.)
  std::vector<std::string> fields;
  unsigned threads = 0;  // 0: one for each CPU this process may use
  // Called by one thread at a time with (number of samples filtered, number of all samples). Must
  // not throw.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress;
  std::stop_token stop;  // a request ends the work with Error(kState)
};

// The samples of an epoch: a cheap, immutable handle.
class SampleList {
 public:
  SampleList() = default;  // each sample of the dataset once

  // These samples, by number in the dataset. A number given n times comes n times an epoch.
  // Shuffle::kSequential plays them in the order given.
  static SampleList Of(std::vector<std::uint64_t> samples);

  // `count` samples, drawn in proportion to `weights`, which has one weight for each sample of the
  // dataset. With replacement, draws are independent. Without replacement, each sample comes at
  // most once in an epoch, so at least `count` weights must be above 0. Weights below 2^-30 of the
  // largest may be rounded. Throws Error(kInvalidArgument) if a weight is negative, infinite or not
  // a number, or if too few are above 0.
  static SampleList Weighted(const std::vector<double>& weights, std::uint64_t count,
                             bool replacement);

  // `per_class` samples of each class of the label field `field`. An empty `field` is
  // Schema::LabelField(). If that is kNone, it is the first field that has several labels for each
  // sample. From a class of n samples, this draws:
  //
  //   n >= per_class    `per_class` different samples
  //   n < per_class     each sample per_class / n times (rounded down), and per_class % n
  //                     different samples once more
  //
  // Left out are classes without samples, and samples whose label is not a class of the field. (A
  // damaged dataset may have such labels.) This call reads no blocks: the directory at the end of
  // each shard has all labels.
  //
  // The field may also hold any number of classes for each sample (multi-label, the classes of
  // boxes): int32 [n]. A sample then counts for each of its classes, so an epoch may have more than
  // `per_class` samples of a class. Samples without a class are left out. For such a field, this
  // call reads the blocks of all shards.
  static SampleList ClassBalanced(const Dataset& dataset, std::uint64_t per_class,
                                  const std::string& field = {});

  // The samples for which `keep` returns true, sorted by number. `keep` sees keys and fields,
  // before any image is decoded. Once Where() has returned, `keep` is not called any more.
  //
  // The result is a list, as of Of(). So batches are full, every rank has the same number of
  // batches, and a resume finds its place without looking at earlier samples. Shuffle::kQuasiRandom
  // has as many blocks open as without a filter (OrderOptions::window_bytes), so it mixes fewer
  // samples. Shuffle::kSequential plays the kept samples as stored.
  //
  // A block is read whole even if few of its samples are kept. To read less, make a dataset of the
  // kept samples (`sluice subset`). Where() takes one bit of memory for each sample, and 8 bytes
  // for each kept sample.
  //
  // If `keep` throws, or reads a damaged sample, Where() throws an Error that names the sample. Of
  // several such samples, the Error names the first, for any number of threads. `keep` may catch
  // the Error of a damaged sample, to decide about that sample itself.
  static SampleList Where(const Dataset& dataset, const SampleFilter& keep,
                          const FilterOptions& options = {});

  // Whether this is the default list, which has each sample of the dataset once.
  bool all() const noexcept { return state_ == nullptr; }
  // The number of samples in an epoch; 0 for all().
  std::uint64_t size() const noexcept;
  // A digest of the list's input: 32 hexadecimal digits, empty for all().
  std::string digest() const;

  // Used by the Loader.
  const std::shared_ptr<const SampleListState>& state() const noexcept { return state_; }

 private:
  friend SampleList ListOf(std::shared_ptr<const SampleListState> state);  // private
  explicit SampleList(std::shared_ptr<const SampleListState> state) : state_(std::move(state)) {}
  std::shared_ptr<const SampleListState> state_;
};

}  // namespace sluice
