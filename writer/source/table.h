// A table of samples: their images' paths, and a column for each further field.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Reads the table of `source` (Kind::kTable) and looks at the files it names, on `threads` threads.
// Rows that lack what a field needs, and those whose files cannot be used, are left out with their
// line.
//
// Errors: kInvalidArgument (a column that is not there, twice or of no use), kCorrupt (a table that
// is damaged, with the line), kNotFound (no table; no row that can be converted), kIo, kState
// (stopped).
SourceList ReadTable(const ConvertSource& source, unsigned threads, const std::stop_token& stop);

}  // namespace sluice
