// Several datasets, played as one.
//
//   sluice::Loader loader(sluice::Mixture{{photos, 0.7}, {drawings, 0.3}}, options);
//   sluice::Loader all(sluice::Mixture{{photos}, {drawings}}, options);
//
// Without weights, an epoch has every sample of every dataset once, in the order that one dataset
// of all their shards would have.
//
// With weights, each dataset has an order of its own. An epoch takes from each dataset the samples
// that earlier epochs have not played. When all samples of a dataset have come, the dataset begins
// again, in a new order.
//
// Fields are matched by name. A field must be the same in all datasets that have it. Only its class
// names may differ, if the longer list of names begins with the whole shorter one. All datasets
// must have the image field that Batch::image() returns.
//
// A dataset may lack any other field. Its samples have no value in that field: Batch::Has() is
// false. The mixture is then refused, unless you set the option that says what such samples hold:
//
//   the field                        its content               the option to set
//   texts and other bytes            empty                     none
//   labels and other arrays          the option's number       LoaderOptions::output.absent
//   lists of variable length         no entries                output.absent, to any number
//   further images                   black                     output.absent, to any number
//   masks                            the option's number       output.mask_fill
//
// Samples are numbered through all datasets: those of the first, then those of the second, and so
// on (Batch::samples(), SampleList, BatchSampler).
//
// With weights, the Loader's constructor plans an epoch. For an epoch of n samples, the plan takes
//
//   6 bytes x n / LoaderOptions::order.lanes
//
// This is 31 kB for a million samples in 192 lanes. Loader::Memory() counts these bytes. The
// constructor throws Error(kLimit) if there is not that much memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include <sluice/dataset.h>

namespace sluice {

// Whether weights are shares of all samples or of each batch.
enum class MixtureShares {
  // Weights are shares of the samples. Each dataset has its share, to within a sample or two, of
  // every run of OrderOptions::lanes consecutive samples (over all ranks). So batches vary less
  // than if a dataset were drawn for each sample.
  kOfSamples,
  // Weights are shares of each batch of each rank. All batches have the same number of samples of
  // each dataset, and an epoch has only whole batches. If the world size changes, but not the
  // number of samples of each dataset in a global batch, each global batch keeps its samples.
  kOfEachBatch,
};

// How long an epoch with weights is.
enum class MixtureLength {
  kFirst,  // until each sample of the first dataset has come once
  // Until the dataset with the fewest samples for its weight is used up. So no dataset gives more
  // samples than it has. With kOfEachBatch, the epoch has only whole batches, and at least one. If
  // an earlier epoch ended in the middle of a dataset, the epoch may have a sample of that dataset
  // twice.
  kShortest,
  kSamples,  // Mixture::samples
};

// Several datasets, to be played as one by a Loader.
struct Mixture {
  // A dataset and its weight.
  struct Part {
    Dataset dataset;    // opened; copies share its mappings
    double weight = 0;  // only proportions count; all 0: no weights
  };
  // The dataset that a sample of the mixture comes from, and the sample's number there.
  struct Origin {
    std::size_t part = 0;      // the dataset's index in `parts`
    std::uint64_t sample = 0;  // the sample's number in that dataset
  };

  Mixture() = default;
  Mixture(std::initializer_list<Part> of) : parts(of) {}
  explicit Mixture(std::vector<Part> of) : parts(std::move(of)) {}

  // Returns the origin of a sample, by its number in the mixture. Throws Error(kInvalidArgument)
  // for a number beyond the end.
  Origin Of(std::uint64_t sample) const;

  std::vector<Part> parts;                           // in the order in which samples are numbered
  MixtureShares shares = MixtureShares::kOfSamples;  // shares of all samples or of each batch
  MixtureLength length = MixtureLength::kFirst;      // how long an epoch with weights is
  std::uint64_t samples = 0;                         // in an epoch, over all ranks; for kSamples
};

}  // namespace sluice
