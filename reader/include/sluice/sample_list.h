// Which samples an epoch is made of, where it is not each of them once.
//
// Lists that draw do so anew each epoch, by the loader's seed: the same for every thread, rank and
// resumed process. A list takes 8 bytes for each sample in it, twice while it is played; weights 8
// bytes for each sample of the dataset.
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

// Whether a sample is kept. Called once for each sample, by several threads at once. It must depend
// on the sample alone: ranks and resumed processes ask anew.
using SampleFilter = std::function<bool(const Sample&)>;

struct FilterOptions {
  // Bytes and variable-length fields, and arrays of more than one element, that the filter looks
  // at: they are read in large pieces before it does. Keys and scalars need no naming: they come
  // from the shards' ends, and no block is read for them. What is not named is read when touched.
  std::vector<std::string> fields;
  unsigned threads = 0;  // 0: one for each CPU this process may use
  // Called by one thread at a time with (samples asked about, samples in all); must not throw.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress;
  std::stop_token stop;  // ends the work with Error(kState)
};

// A cheap, immutable handle.
class SampleList {
 public:
  SampleList() = default;  // each sample of the dataset once

  // These, by their numbers in the dataset: one that is there n times comes n times an epoch.
  // Shuffle::kSequential plays them in the order given.
  static SampleList Of(std::vector<std::uint64_t> samples);

  // `count` samples, drawn in proportion to `weights`, which has one for each sample of the
  // dataset: with replacement independently of each other, without it each at most once. Weights
  // below 2^-30 of the largest may be rounded. Throws Error(kInvalidArgument) for weights that are
  // negative or no numbers, or too few above 0 to draw from.
  static SampleList Weighted(const std::vector<double>& weights, std::uint64_t count,
                             bool replacement);

  // `per_class` samples of each class of a label field ({}: Schema::LabelField()). A class with
  // fewer has each of its samples as often as goes evenly, and the rest of them drawn; one with
  // more has some drawn. Classes without samples are left out, and so are samples whose label is
  // the number of none of the field's classes, which a damaged dataset may have. Reads the
  // directories of all shards.
  static SampleList ClassBalanced(const Dataset& dataset, std::uint64_t per_class,
                                  const std::string& field = {});

  // The samples that `keep` says yes to, by number. It sees key and fields, before anything is
  // decoded, and is done with when this returns: what is left is a list like those of Of(), so that
  // batches are full, every rank has as many of them, and a resume finds its place without looking
  // at a sample before it. The order is that of the list: Shuffle::kQuasiRandom permutes the blocks
  // that have a sample left in them, deals those to lanes, and mixes what is left in the open ones
  // (as many blocks, so fewer samples the fewer are kept). Shuffle::kSequential plays them as
  // stored. Where few are kept of each block, whole blocks are still read for them: a dataset of
  // their own (`sluice subset`) reads less.
  // Takes a bit for each sample and 8 bytes for each that is kept. What `keep` throws, and a sample
  // that it cannot read, end this with an Error that names the sample: the first such one, whatever
  // the number of threads. (A filter may catch that itself, and say what is to become of it.)
  static SampleList Where(const Dataset& dataset, const SampleFilter& keep,
                          const FilterOptions& options = {});

  bool all() const noexcept { return state_ == nullptr; }
  // Samples in an epoch; 0 for all().
  std::uint64_t size() const noexcept;
  // Of what the list is made from: 32 hexadecimal digits, empty for all().
  std::string digest() const;

  const std::shared_ptr<const SampleListState>& state() const noexcept { return state_; }

 private:
  explicit SampleList(std::shared_ptr<const SampleListState> state) : state_(std::move(state)) {}
  std::shared_ptr<const SampleListState> state_;
};

}  // namespace sluice
