// TFRecord files with tf.train.Example, and RecordIO files of MXNet.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Whether a file that begins with these bytes (at least 12) is one.
bool IsTfRecord(Bytes start) noexcept;
bool IsRecordIo(Bytes start) noexcept;

// Reads the files of `source` (Kind::kArchives). Columns are the features of the first thousand
// examples. The image is the feature ConvertSource::path_column, or else one with a usual name or
// the first that begins as an image; a record's checksum is compared when its image is read. A
// column is a label by the names label, class and image/class/label.
//
// Errors: those of carried.h; kCorrupt (framing or messages are damaged, with the byte), kIo.
SourceList ReadTfRecords(const ConvertSource& source, const std::stop_token& stop);

// As above. A record with one label has the column "label", one with several "labels"; with those
// that MXNet's detection makes, "boxes" and "classes".
SourceList ReadRecordIo(const ConvertSource& source, const std::stop_token& stop);

}  // namespace sluice
