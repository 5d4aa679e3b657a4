// Parquet files with their images inside, as Hugging Face's datasets are.
//
// Not through Arrow's C++ library: Debian has no package of it, the one in Python's wheel has 62 MB
// and wants a compiler of its kind. And it takes images into memory, 94 MB for files of 30 MB,
// where a conversion only needs to know where each lies: it is read when its turn comes.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Reads the files of `source` (Kind::kArchives). The image is the column that the metadata of
// Hugging Face name, or a struct with `bytes`, or a column of bytes with a usual name, or the only
// one of bytes; or ConvertSource::path_column. What is read: values plain or by a dictionary, in
// pages of both versions, without compression or by Snappy or zstd.
//
// Errors: those of parquet_file.h, parquet_column.h and carried.h.
SourceList ReadParquet(const ConvertSource& source, const std::stop_token& stop);

}  // namespace sluice
