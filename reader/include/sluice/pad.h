// Variable-length fields as rectangles, for losses and models that take rectangles: each sample is
// filled up to as many entries as the batch's longest sample has.
//
//   const auto boxes = sluice::Pad(batch.Variable<float>("boxes"));    // samples x longest x 4
//   const auto words = sluice::Pad(batch.Variable<std::int32_t>("tokens"), -100, 128);
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <sluice/batch.h>

namespace sluice {

// A variable-length field as a rectangle.
template <class T>
struct PaddedValues {
  std::vector<T> values;            // samples x longest x entry, one sample after another
  std::size_t longest = 0;          // entries of each sample, with the padding
  std::size_t entry = 1;            // elements of an entry
  std::vector<std::size_t> counts;  // by sample: its own entries, which come first
};

// Pads a field. The values are copies, so the batch may be dropped.
//
// `fill` is the value of every element after a sample's own. All samples are filled up to
// `at_least` entries, or to the length of the batch's longest sample if that is more. To give all
// batches one shape, set `at_least` to the length of the dataset's longest sample.
//
// The result takes samples x longest entries, so one very long sample costs as much as a batch of
// such samples.
template <class T>
PaddedValues<T> Pad(const VariableValues<T>& of, std::type_identity_t<T> fill = T(),
                    std::size_t at_least = 0) {
  PaddedValues<T> padded;
  padded.longest = at_least;
  padded.entry = of.entry;
  const std::size_t samples = of.offsets.empty() ? 0 : of.offsets.size() - 1;
  for (std::size_t i = 0; i < samples; ++i) {
    padded.counts.push_back(static_cast<std::size_t>(of.offsets[i + 1] - of.offsets[i]));
    padded.longest = std::max(padded.longest, padded.counts.back());
  }
  const std::size_t row = padded.longest * of.entry;
  padded.values.assign(samples * row, fill);
  for (std::size_t i = 0; i < samples; ++i) {
    const auto own = of[i];
    std::copy(own.begin(), own.end(), padded.values.begin() + static_cast<std::ptrdiff_t>(i * row));
  }
  return padded;
}

}  // namespace sluice
