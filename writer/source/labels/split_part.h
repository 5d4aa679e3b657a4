// A part of a source, such as the 10% for validation.
#pragma once

#include "writer/source/list/source_list.h"

namespace sluice {

// Keeps only the sources that ConvertSource::split selects, in their order. Throws Error(kNotFound)
// if none is left.
void TakeSplit(const ConvertSource& source, SourceList& list);

}  // namespace sluice
