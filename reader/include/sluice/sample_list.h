// Which samples an epoch is made of, where it is not each of them once.
//
// Lists that draw do so anew each epoch, by the loader's seed: the same for every thread, rank and
// resumed process. A list takes 8 bytes for each sample in it, twice while it is played; weights 8
// bytes for each sample of the dataset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sluice/dataset.h>

namespace sluice {

struct SampleListState;  // private

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

  // `per_class` samples of each class of a label field ({}: the dataset's first). A class with
  // fewer has each of its samples as often as goes evenly, and the rest of them drawn; one with
  // more has some drawn. Classes without samples are left out. Reads the directories of all shards.
  static SampleList ClassBalanced(const Dataset& dataset, std::uint64_t per_class,
                                  const std::string& field = {});

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
