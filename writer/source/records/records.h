// The readers of files that describe many samples: tables, whose rows name image files, and
// archives of several kinds, which hold the images.
//
// A new kind of archive is a source file here. What its columns become is row_fields.h's. It also
// goes into these files, where "beton" shows how:
//   writer/source/open_source.cpp
//   writer/source/list/look.cpp           the endings of its files
//   writer/source/records/image_rows.h    the base of its reader
//   writer/include/sluice/convert_source.h
//   writer/CMakeLists.txt
//   tools/convert_source.cpp              its name in --help
//   writer/README.md
//   tools/convert.cpp
//   tests/fuzz/targets.h                  its fuzz target; also in targets.cpp, CMakeLists.txt
//   tests/importers/ffcv_test.py          compared with what its own library reads
//   tests/fuzz/fuzz_test.cpp
//   reader/python/README.md
//   README.md
#pragma once

#include <stop_token>

#include "writer/source/list/source_list.h"

namespace sluice {

// A table of samples: their images' paths, and a column for each further field.
//
// Reads the table of `source` (Kind::kTable) and looks at the files it names, on `threads` threads.
// Leaves out, with their line, rows that lack a value that a field needs and rows whose files
// cannot be used.
//
// Errors: kInvalidArgument (a column that is missing, given twice or of no use), kCorrupt (a
// damaged table, with the line), kNotFound (no table; no row that can be converted), kIo, kState
// (stopped).
SourceList ReadTable(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks);

// Tar archives with WebDataset's names (tar.cpp).
//
// Reads the headers of `source.archives` (Kind::kArchives) on `threads` threads; images and texts
// stay in the archives. Leaves out samples without an image, and samples without a class if others
// have one.
//
// Errors: kCorrupt (a damaged archive, with the place), kUnsupported (a compressed one), kNotFound
// (no archive; no image), kIo, kState (stopped).
SourceList ReadArchives(const ConvertSource& source, unsigned threads, const std::stop_token& stop);

// Parquet files with their images inside.
//
// Reads the files of `source` (Kind::kArchives). The image is the column that the metadata of
// Hugging Face name, or a struct with `bytes`, or a column of bytes with a usual name, or the only
// one of bytes; or ConvertSource::rows.path_column. What is read: values plain or by a dictionary,
// in pages of both versions, without compression or by Snappy or zstd.
//
// Errors: those of parquet_file.h, parquet_column.h and image_rows.h.
SourceList ReadParquet(const ConvertSource& source, const std::stop_token& stop);

// TFRecord files with tf.train.Example, and RecordIO files of MXNet.
//
// Whether a file that begins with these bytes (at least 12) is one.
bool IsTfRecord(Bytes start) noexcept;
bool IsRecordIo(Bytes start) noexcept;

// Reads the files of `source` (Kind::kArchives). Columns are the features of the first thousand
// examples. The image is the feature ConvertSource::rows.path_column, or else one with a usual name
// or the first that begins as an image; a record's checksum is compared when its image is read. A
// column is a label by the names label, class and image/class/label.
//
// Errors: those of image_rows.h; kCorrupt (framing or messages are damaged, with the byte), kIo.
SourceList ReadTfRecords(const ConvertSource& source, const std::stop_token& stop);

// As above. A record with one label has the column "label", one with several "labels"; with those
// that MXNet's detection makes, "boxes" and "classes".
SourceList ReadRecordIo(const ConvertSource& source, const std::stop_token& stop);

// FFCV's .beton files, version 2 (FFCV 1.0).
inline constexpr std::size_t kBetonStartBytes = 48;

// Whether a file that begins with these bytes (kBetonStartBytes, or all of a shorter one) is one.
bool IsBeton(Bytes start) noexcept;

// Reads the files of `source` (Kind::kArchives). The image is the field
// ConvertSource::rows.path_column, or else the first of images; JPEGs are taken as they are, raw
// pixels as a PPM. Arrays, bytes and JSON are only located. A field of integers named label or
// class is the label; it has no classes' names, unless ConvertSource::label.classes gives them.
//
// Errors: those of image_rows.h; kUnsupported (another version, a field of a type of one's own),
// kCorrupt (numbers that contradict each other), kIo.
SourceList ReadBeton(const ConvertSource& source, const std::stop_token& stop);

}  // namespace sluice
