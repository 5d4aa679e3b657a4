// The footer of a Parquet file: its columns, and where their values lie.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "format/disk/file.h"
#include "writer/source/packed_page.h"

namespace sluice {

// Types by Parquet's numbers.
enum class ParquetType : std::uint8_t {
  kBool,
  kInt32,
  kInt64,
  kInt96,
  kFloat,
  kDouble,
  kBytes,
  kFixed
};

// A column of values: a leaf of the schema.
struct ParquetLeaf {
  std::string name;  // "image.bytes": with its groups, but without those that only make a list
  ParquetType type = ParquetType::kBool;
  bool text = false;      // kBytes that are UTF-8
  bool supported = true;  // false for what is not read, such as decimals
  // The level of a value that is there; of an entry of the innermost list that has it; both 0 for
  // one that is always there.
  unsigned defined = 0;
  unsigned entry = 0;
  unsigned lists = 0;  // that it lies in
};

// The values of a leaf in a group of rows.
struct ParquetChunk {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t values = 0;
  PageCodec codec = PageCodec::kNone;
};

struct ParquetGroup {
  std::uint64_t rows = 0;
  std::vector<ParquetChunk> chunks;  // by leaf
};

struct ParquetFile {
  std::filesystem::path path;
  FileHandle file;
  std::uint64_t bytes = 0;
  std::vector<ParquetLeaf> leaves;
  std::vector<ParquetGroup> groups;
  std::map<std::string, std::string> metadata;
  std::uint64_t rows = 0;
};

// Errors: kNotFound, kIo, kCorrupt (damaged, or cut short), kUnsupported (encrypted, or compressed
// by another library), kLimit (a footer of more than 64 MiB, 4096 columns, more rows than bytes).
ParquetFile OpenParquet(const std::filesystem::path& path);

}  // namespace sluice
