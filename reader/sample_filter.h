// Asking every sample of a dataset whether it is kept: what SampleList::Where() does.
#pragma once

#include <cstdint>
#include <vector>

#include <sluice/sample_list.h>

namespace sluice {

// The numbers of those that are, ascending. Throws what SampleList::Where() does.
std::vector<std::uint64_t> KeptSamples(const Dataset& dataset, const SampleFilter& keep,
                                       const FilterOptions& options);

}  // namespace sluice
