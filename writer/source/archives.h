// Tar archives in WebDataset's naming, as sources.
//
// A member's name is split at the first dot behind its last slash: members that follow each other
// and share what stands before it make one sample, whose key that is. What stands behind says what
// the member is: an image's ending (jpg, png, ...) its image, "cls" its class, "txt" its text,
// "json" its JSON, "mask.png" (or "seg.png") its mask. Others are passed over, and so are hidden
// files.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Reads the headers of `source.archives` (Kind::kArchives) on `threads` threads; images and texts
// stay where they are. Samples that lack an image, or a class where others have one, are left out.
//
// Errors: kCorrupt (an archive that is damaged, with the place), kUnsupported (a compressed one),
// kNotFound (no archive; no image), kIo, kState (stopped).
SourceList ReadArchives(const ConvertSource& source, unsigned threads, const std::stop_token& stop);

}  // namespace sluice
