// The footer of a Parquet file, its columns and where their values lie, and the protocol that its
// headers are written in.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "writer/source/list/packed_page.h"

namespace sluice {

class ThriftReader {
 public:
  enum Type : unsigned {
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kDouble = 7,
    kBinary = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12
  };

  explicit ThriftReader(Bytes bytes) : bytes_(bytes) {}

  // Calls visit(id, type) for each field of a struct; it must read the field's value, or Skip() it.
  template <class Visit>
  void Struct(Visit visit) {
    const Nested nested(*this);
    for (std::int64_t id = 0;;) {
      const unsigned head = Byte();
      if (head == 0) return;
      id = (head >> 4) != 0 ? id + (head >> 4) : Integer();
      visit(id, head & 15);
    }
  }
  // Calls visit(type) for each element of a list.
  template <class Visit>
  void List(Visit visit) {
    const Nested nested(*this);
    const unsigned head = Byte();
    std::uint64_t count = head >> 4;
    if (count == 15) count = Unsigned();
    if (count > bytes_.size() - at_) Fail();
    for (; count > 0; --count)
      visit(head & 15);
  }
  std::int64_t Integer();
  std::string_view Binary();
  void Skip(unsigned type);
  // How many bytes were read.
  std::size_t position() const noexcept { return at_; }

 private:
  static constexpr unsigned kMaxNested = 32;
  struct Nested {
    explicit Nested(ThriftReader& reader) : reader_(reader) {
      if (++reader.depth_ > kMaxNested) Fail();
    }
    ~Nested() { --reader_.depth_; }
    ThriftReader& reader_;
  };
  [[noreturn]] static void Fail();
  unsigned Byte();
  std::uint64_t Unsigned();
  void SkipElement(unsigned type);

  Bytes bytes_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
};

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
