// Turns the caller's source into the list of samples to convert.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "writer/source/list/source_list.h"

namespace sluice {

// Throws Error(kInvalidArgument) if members do not fit together.
void CheckSource(const ConvertSource& source);

// Reads the folder, table, list or archives, on `threads` threads. Errors: those of list/look.h,
// records/records.h and labels/annotations.h.
SourceList OpenSource(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks);

}  // namespace sluice
