// A table of samples: their images' paths, and a column for each further field.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Reads the table of `source` (Kind::kTable) and looks at the files it names, on `threads` threads.
// Leaves out, with their line, rows that lack a value that a field needs and rows whose files
// cannot be used.
//
// Errors: kInvalidArgument (a column that is missing, given twice or of no use), kCorrupt (a
// damaged table, with the line), kNotFound (no table; no row that can be converted), kIo, kState
// (stopped).
SourceList ReadTable(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks);

}  // namespace sluice
