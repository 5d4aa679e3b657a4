// The samples of an epoch that is not simply each sample of the dataset once.
//
// Lists with random draws draw again each epoch, by the loader's seed: every thread, rank and
// resumed process draws the same. A list takes 8 bytes for each of its samples, and twice that
// while it is played; weights take 8 bytes for each sample of the dataset.
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

// Returns whether a sample is kept. Called once for each sample, by several threads at once. The
// answer must depend on the sample alone: ranks and resumed processes ask again.
using SampleFilter = std::function<bool(const Sample&)>;

// The options of SampleList::Where().
struct FilterOptions {
  // The bytes fields, variable-length fields and arrays of more than one element that the filter
  // looks at. They are read ahead in large pieces; fields not named here are read when the filter
  // touches them. Do not name scalars: scalars and keys are stored at the end of each shard, and no
  // block is read for them.
  std::vector<std::string> fields;
  unsigned threads = 0;  // 0: one for each CPU this process may use
  // Called by one thread at a time with (samples asked about, samples in all); must not throw.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress;
  std::stop_token stop;  // ends the work with Error(kState)
};

// The samples of an epoch: a cheap, immutable handle.
class SampleList {
 public:
  SampleList() = default;  // each sample of the dataset once

  // These samples, by number in the dataset. A number given n times comes n times an epoch.
  // Shuffle::kSequential plays them in the order given.
  static SampleList Of(std::vector<std::uint64_t> samples);

  // `count` samples, drawn in proportion to `weights`, which has one for each sample of the
  // dataset. With replacement, draws are independent; without, each sample comes at most once.
  // Weights below 2^-30 of the largest may be rounded. Throws Error(kInvalidArgument) if a weight
  // is negative, infinite or not a number, or if too few are above 0 to draw from.
  static SampleList Weighted(const std::vector<double>& weights, std::uint64_t count,
                             bool replacement);

  // `per_class` samples of each class of a label field ({}: Schema::LabelField(), or else the first
  // field of several labels). If a class has more samples, `per_class` of them are drawn. If it has
  // only n, fewer than `per_class`, each comes per_class / n times, rounded down, and those still
  // missing are drawn from the class, each at most once. Classes without samples are left out; so
  // are samples whose label is not a class of the field, which a damaged dataset may have. Reads
  // the directory at the end of every shard's file, which repeats the samples' scalars.
  //
  // The field may also hold any number of classes (multi-label, the classes of boxes): int32 [n]. A
  // sample then counts for each of its classes, so an epoch may have more than `per_class` samples
  // of a class; samples without a class are left out. This reads the blocks of all shards.
  static SampleList ClassBalanced(const Dataset& dataset, std::uint64_t per_class,
                                  const std::string& field = {});

  // The samples for which `keep` returns true, sorted by number. `keep` sees key and fields before
  // any image is decoded, and is not called after this returns. The result is a list like those of
  // Of(): batches are full, every rank has the same number of them, and a resume finds its place
  // without looking at earlier samples. Shuffle::kQuasiRandom permutes the blocks in which a sample
  // is kept, deals them to lanes, and mixes the kept samples of the open blocks. The window has as
  // many blocks as without a filter, so it has fewer samples. Shuffle::kSequential plays samples as
  // stored. Whole blocks are read even if few samples of each are kept; to read less, make a
  // dataset of the kept samples (`sluice subset`). Takes one bit of memory for each sample and 8
  // bytes for each kept sample. If `keep` throws, or a sample that it reads is damaged, this throws
  // an Error that names the sample: the first such sample, with any number of threads. (The filter
  // may catch the Error of a damaged sample itself, and decide.)
  static SampleList Where(const Dataset& dataset, const SampleFilter& keep,
                          const FilterOptions& options = {});

  // Whether this is each sample of the dataset once: the default list.
  bool all() const noexcept { return state_ == nullptr; }
  // Samples in an epoch; 0 for all().
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
