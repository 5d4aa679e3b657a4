// Several datasets played as one.
//
//   sluice::Loader loader(sluice::Mixture{{photos, 0.7}, {drawings, 0.3}}, options);
//   sluice::Loader all(sluice::Mixture{{photos}, {drawings}}, options);
//
// Without weights, an epoch has every sample of every dataset once, in the order that one dataset
// of all their shards would have. With weights, each dataset is played in an order of its own, and
// begins again, in a new order, when all of its samples have come: an epoch continues with the
// samples that the epochs before it have left.
//
// Fields are matched by name. Fields of one name must be the same in all datasets that have them;
// only the class names may differ, if one list begins with the whole of the other. Where a dataset
// lacks a field, its samples have no value in it: Batch::Has() is false. Texts and other bytes are
// empty then. For all other fields, the options must say what such samples hold, or the mixture is
// refused: LoaderOptions::output.absent (arrays hold this number, lists have no entries, further
// images are black), and for masks output.mask_fill. All datasets must have the image field that
// Batch::image() returns.
//
// With weights, the Loader's constructor plans an epoch. The plan takes 6 bytes for every
// LoaderOptions::order.lanes samples of the epoch (31 kB for a million samples). Loader::Memory()
// counts these bytes; Error(kLimit) if they do not fit.
//
// Samples are numbered through all datasets: those of the first, then those of the second, and so
// on (Batch::samples(), SampleList, BatchSampler).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include <sluice/dataset.h>

namespace sluice {

// The whole that a weight is a share of.
enum class MixtureShares {
  // Weights are shares of the samples. Of each `lanes` consecutive samples, over all ranks, each
  // dataset has its share to within a sample or two, so batches vary less than if the dataset were
  // drawn for each sample.
  kOfSamples,
  // Weights are shares of each batch of each rank: all batches have the same number of samples of
  // each dataset, and epochs are whole batches. The samples of a global batch do not depend on the
  // world size if the ranks' batches together hold the same number of samples of each dataset.
  kOfEachBatch,
};

// How long an epoch with weights is.
enum class MixtureLength {
  kFirst,  // until each sample of the first dataset has come once
  // Until one dataset has given as many samples as it has; the others have not given more than they
  // have. (A dataset that begins again in the middle of an epoch may give a sample twice in it.)
  kShortest,
  kSamples,  // Mixture::samples
};

// Several datasets, to be played as one.
struct Mixture {
  // A dataset and its weight.
  struct Part {
    Dataset dataset;    // opened; copies share its mappings
    double weight = 0;  // only their proportions count; 0 for all: no weights
  };
  // Where a sample of the mixture is from.
  struct Origin {
    std::size_t part = 0;      // the index of its dataset in `parts`
    std::uint64_t sample = 0;  // the sample's number in that dataset
  };

  Mixture() = default;
  Mixture(std::initializer_list<Part> of) : parts(of) {}
  explicit Mixture(std::vector<Part> of) : parts(std::move(of)) {}

  // Where the sample of that number is from. Error(kInvalidArgument) beyond the end.
  Origin Of(std::uint64_t sample) const;

  std::vector<Part> parts;                           // in the order in which samples are numbered
  MixtureShares shares = MixtureShares::kOfSamples;  // the whole that a weight is a share of
  MixtureLength length = MixtureLength::kFirst;      // how long an epoch with weights is
  std::uint64_t samples = 0;                         // of an epoch over all ranks, with kSamples
};

}  // namespace sluice
