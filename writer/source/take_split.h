// A part of a split, such as the 10% for validation.
#pragma once

#include "writer/source/source_list.h"

namespace sluice {

// Keeps only the sources that ConvertSource's split_begin, split_end and split_seed select, in
// their order. Throws Error(kNotFound) if none is left.
void TakeSplit(const ConvertSource& source, SourceList& list);

}  // namespace sluice
