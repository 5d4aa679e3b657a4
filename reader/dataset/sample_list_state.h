// What handles to a list of samples share.
#pragma once

#include <string>

#include <sluice/sample_list.h>

#include "reader/order/sample_draw.h"

namespace sluice {

struct SampleListState {
  SampleDraw draw;
  std::string digest;
  std::uint64_t needs = 0;          // samples a dataset must have at least
  std::uint64_t needs_exactly = 0;  // or exactly, if not 0: there is a weight for each
  std::string dataset;              // its id, where the list was made from what is in it
};

// Throws Error(kInvalidArgument) if the list does not belong to the dataset of that id and so many
// samples.
void CheckList(const SampleList& list, std::uint64_t samples, const std::string& dataset);

// Of a list without samples: a sentence's end.
std::string WhyEmpty(const SampleList& list);

// The list of these samples, ascending, of that dataset: what SampleList::Where() makes.
std::shared_ptr<const SampleListState> KeptList(const Dataset& dataset,
                                                std::vector<std::uint64_t> samples);

}  // namespace sluice
