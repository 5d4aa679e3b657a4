// The readers of files that describe many samples: tables, whose rows name image files, and
// archives of several kinds, which hold the images.
//
// To add a kind of archive, write a source file here (record_fields.h makes fields of its columns).
// The new kind also goes into these files, where "beton" shows how:
//   writer/source/records/archives.cpp    how its content is recognised
//   writer/source/list/list_checks.cpp    the endings of its files
//   writer/source/check_source.cpp        its name in advice, as in the next
//   writer/source/folder_layout.cpp
//   writer/source/records/image_records.h    the base of its reader
//   writer/source/records/image_records.cpp
//   writer/include/sluice/convert_source.h
//   writer/include/sluice/convert_option_list.h
//   writer/CMakeLists.txt
//   tools/convert_source.cpp              its name in --help
//   tools/convert.cpp
//   writer/README.md
//   reader/python/binding/source.cpp
//   reader/python/README.md
//   README.md
//   samples/guides/README.md
//   tests/writer/CMakeLists.txt           its own test
//   tests/interruption/source_kill_test.cpp
//   tests/importers/ffcv_test.py          compared with what its own library reads
//   tests/fuzz/targets.h                  its fuzz target
//   tests/fuzz/targets.cpp
//   tests/fuzz/fuzz_test.cpp
//   tests/fuzz/CMakeLists.txt
//   not bench/parts/convert.cpp           needs no change: it only measures FFCV
//   not tests/python/test_pages.py        needs no change: it plays one such file
//   not samples/guides/from-ffcv.md       needs no change: a guide for users of FFCV
//
// Also name the library that writes such files in tests/importers/CMakeLists.txt and
// tests/README.md. If Sluice needs a library to read such files, name it in the files that
// image_kinds.h lists under "if it needs a library".
#pragma once

#include <stop_token>

#include "writer/source/list/source_list.h"

namespace sluice {

// A table of samples: their images' paths, and a column for each further field.
//
// Reads the table of `source` (Kind::kTable) and looks at the files it names, on `threads` threads;
// they lie below the root of `list`, which is open (SetRoot). Rows that lack a value, or whose
// files cannot be used, are left out and listed with their line.
//
// Errors: kInvalidArgument (a column that is missing, given twice or unusable), kCorrupt (a damaged
// table, with the line), kNotFound (no table; no row that can be converted), kIo, kState (stopped).
SourceList ReadTable(const ConvertSource& source, SourceList list, unsigned threads,
                     const ConvertHooks& hooks);

// Tar archives with WebDataset's names (tar.cpp).
//
// Reads the headers of `source.archives` (Kind::kArchives) on `threads` threads; images and texts
// stay in the archives. Leaves out samples without an image, and samples without a class if others
// have one.
//
// Errors: kCorrupt (a damaged archive, with the place), kUnsupported (a compressed one), kNotFound
// (no archive; no image), kIo, kState (stopped).
SourceList ReadTars(const ConvertSource& source, unsigned threads, const std::stop_token& stop);

// Archives of any kind: calls one of the functions around this one, by the first file's content.
// Errors: theirs; kInvalidArgument (the file is an image).
SourceList ReadArchives(const ConvertSource& source, unsigned threads, const std::stop_token& stop);

// Parquet files that contain their images.
//
// Reads the files of `source` (Kind::kArchives). The image is ConvertSource::rows.path_column if
// given. Otherwise it is the column that Hugging Face's metadata describes as images, or a struct
// with `bytes`, or a column of bytes with a usual name, or the only column of bytes. Reads plain
// and dictionary encoding, pages of versions 1 and 2, and columns that are uncompressed or
// compressed with Snappy or zstd.
//
// Errors: those of parquet_file.h, parquet_column.h and image_records.h.
SourceList ReadParquet(const ConvertSource& source, const std::stop_token& stop);

// Whether a file is a TFRecord file (which must hold tf.train.Example messages), or MXNet's
// RecordIO, by its first bytes (at least 12).
bool IsTfRecord(Bytes start) noexcept;
bool IsRecordIo(Bytes start) noexcept;

// Reads the files of `source` (Kind::kArchives). The columns are the features of the first thousand
// examples. The image is the feature ConvertSource::rows.path_column if given; otherwise one with a
// usual name, or the first whose content begins like an image. The features label, class and
// image/class/label are labels. A record's checksum is verified when its image is read.
//
// Errors: those of image_records.h; kCorrupt (framing or messages are damaged, with the byte), kIo.
SourceList ReadTfRecords(const ConvertSource& source, const std::stop_token& stop);

// The same for RecordIO. A single label becomes the column "label", several become "labels". Labels
// in MXNet's form for object detection become "boxes" and "classes".
SourceList ReadRecordIo(const ConvertSource& source, const std::stop_token& stop);

// FFCV's .beton files, version 2 (FFCV 1.0).
inline constexpr std::size_t kBetonStartBytes = 48;

// Whether a file is a .beton file, by its first kBetonStartBytes bytes (or all bytes, if it has
// fewer).
bool IsBeton(Bytes start) noexcept;

// Reads the files of `source` (Kind::kArchives). The image is the field
// ConvertSource::rows.path_column if given, otherwise the first field of images. JPEGs are used as
// they are, raw pixels as a PPM. A column of arrays, bytes or JSON holds only where each value
// lies in the file; the values are read at once only if they must be numbers, such as boxes. A
// field of integers named label or class is the label. The file does not name its classes;
// ConvertSource::label.classes can.
//
// Errors: those of image_records.h; kUnsupported (another version, a field type that its user
// defined), kCorrupt (numbers that contradict each other), kIo.
SourceList ReadBeton(const ConvertSource& source, const std::stop_token& stop);

}  // namespace sluice
