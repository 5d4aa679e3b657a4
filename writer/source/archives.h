// Tar archives with WebDataset's names, as sources.
//
// A member's name is split at the first dot after its last slash. Members that follow each other
// and share the part before the dot make one sample, and that part is its key. The part after the
// dot says what the member is: an image's ending (jpg, png, ...) its image, "cls" its class, "txt"
// its text, "json" its JSON, "mask.png" (or "seg.png") its mask. Other members and hidden files are
// passed over.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Reads the headers of `source.archives` (Kind::kArchives) on `threads` threads; images and texts
// stay in the archives. Leaves out samples without an image, and samples without a class if others
// have one.
//
// Errors: kCorrupt (a damaged archive, with the place), kUnsupported (a compressed one), kNotFound
// (no archive; no image), kIo, kState (stopped).
SourceList ReadArchives(const ConvertSource& source, unsigned threads, const std::stop_token& stop);

}  // namespace sluice
