// Turns the caller's source into the list of samples to convert.
#pragma once

#include "writer/source/list/source_list.h"

namespace sluice {

// Reads the folder, table, list or archives, on `threads` threads. Call CheckSource() first.
// Errors: those of list/look.h, records/records.h and labels/annotations.h.
// `form`: decides which files are images, and how they make samples.
SourceList OpenSource(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks,
                      const FormOptions& form = {});

}  // namespace sluice
