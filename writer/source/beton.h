// FFCV's .beton files, version 2 (FFCV 1.0): a header, the fields' descriptions, a table of
// samples, pages of payloads, and a table of where each payload lies and how long it is.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

inline constexpr std::size_t kBetonStartBytes = 48;

// Whether a file that begins with these bytes (kBetonStartBytes, or all of a shorter one) is one.
bool IsBeton(Bytes start) noexcept;

// Reads the files of `source` (Kind::kArchives). The image is the field
// ConvertSource::path_column, or else the first of images; JPEGs are taken as they are, raw pixels
// as a PPM. Arrays, bytes and JSON are only located. A field of integers named label or class is
// the label; it has no classes' names, unless ConvertSource::classes gives them.
//
// Errors: those of carried.h; kUnsupported (another version, a field of a type of one's own),
// kCorrupt (numbers that contradict each other), kIo.
SourceList ReadBeton(const ConvertSource& source, const std::stop_token& stop);

}  // namespace sluice
