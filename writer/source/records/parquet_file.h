// The footer of a Parquet file: its columns, and where their values lie. ThriftReader reads the
// protocol in which the footer and the headers of pages are written.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "writer/source/records/packed_page.h"

namespace sluice {

// Reads Thrift's compact protocol. Throws Error(kCorrupt) for bytes that do not follow it.
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

  // Calls visit(id, type) for each field of a struct; visit must read the field's value or Skip()
  // it.
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
  // The number of bytes read so far.
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

// Physical types. The values are Parquet's numbers for them, except for kHalf.
enum class ParquetType : std::uint8_t {
  kBool,
  kInt32,
  kInt64,
  kInt96,
  kFloat,
  kDouble,
  kBytes,
  kFixed,
  kHalf  // kFixed of two bytes, which are a floating-point number
};

// A column of values: a leaf of the schema.
struct ParquetLeaf {
  // The name with the groups around the leaf, "image.bytes", except groups that only form a list.
  std::string name;
  ParquetType type = ParquetType::kBool;
  bool text = false;      // kBytes that are UTF-8
  bool supported = true;  // false for types that cannot be read, such as decimals
  // Definition levels: a value is present at `defined`; an entry of the innermost list exists,
  // perhaps as null, from `entry` on. Both are 0 if the value is always present.
  unsigned defined = 0;
  unsigned entry = 0;
  unsigned lists = 0;        // number of lists around it
  bool is_unsigned = false;  // kInt32 and kInt64 whose numbers are unsigned
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
  std::vector<ParquetChunk> chunks;  // one per leaf
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
// with a codec that Sluice does not read), kLimit (a footer of more than 64 MiB, more than 4096
// columns, or more rows than bytes).
ParquetFile OpenParquet(const std::filesystem::path& path);

}  // namespace sluice
