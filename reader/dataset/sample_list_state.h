// The state shared by handles to a list of samples.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/sample_list.h>

#include "reader/order/sample_draw.h"

namespace sluice {

struct DatasetFacts;

// The origin of a list. Another version of the dataset will do if these digests are the same.
struct ListOrigin {
  std::string dataset;  // its id
  std::string shards;   // DatasetFacts::ShardsDigest()
  // The names of the fields whose values the list depends on, with DatasetFacts::SourceDigest().
  std::vector<std::pair<std::string, std::string>> fields;
};

struct SampleListState {
  SampleDraw draw = {};
  std::string digest = {};
  std::uint64_t needs = 0;                // the fewest samples that a dataset must have
  std::uint64_t needs_exactly = 0;        // if not 0, the number of samples that it must have
  std::optional<ListOrigin> origin = {};  // what the dataset must have; empty: anything
};

// Throws Error(kInvalidArgument) if the list does not fit the dataset.
void CheckList(const SampleList& list, const DatasetFacts& dataset);

// Why a list has no samples: the end of a sentence.
std::string WhyEmpty(const SampleList& list);

// The list of these samples of that dataset, in ascending order, for SampleList::Where().
std::shared_ptr<const SampleListState> KeptList(const Dataset& dataset,
                                                std::vector<std::uint64_t> samples);

// The list that plays the epochs of a mixture. `windows[d]`: how many blocks a lane's window has in
// dataset d, because the order of that dataset's samples depends on it. The list's digest covers
// `windows` and the number of draws from each dataset.
SampleList MixtureList(std::shared_ptr<const MixturePlan> plan,
                       const std::vector<std::uint64_t>& windows);

}  // namespace sluice
