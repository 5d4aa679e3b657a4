// A Parquet file ends with its footer: a structure in Thrift's compact protocol, its length, and
// "PAR1".
//
// The footer describes a tree of columns, of which only the leaves have values. Each leaf has
// levels, which say where lists begin and which values are null. Groups that only form a list
// ("list.element") are left out of the leaves' names, since users do not know them. Every number is
// checked against the file's size before it is used.
#include "writer/source/records/parquet_file.h"

#include <algorithm>
#include <cerrno>

#include <sluice/error.h>

namespace sluice {

void ThriftReader::Fail() {
  throw Error(ErrorCode::kCorrupt, "a header is damaged");
}

unsigned ThriftReader::Byte() {
  if (at_ >= bytes_.size()) Fail();
  return std::to_integer<unsigned>(bytes_[at_++]);
}

std::uint64_t ThriftReader::Unsigned() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const unsigned byte = Byte();
    number |= std::uint64_t{byte & 127} << shift;
    if (byte < 128) return number;
  }
  Fail();
}

std::int64_t ThriftReader::Integer() {
  const std::uint64_t number = Unsigned();
  return static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1));
}

std::string_view ThriftReader::Binary() {
  const std::uint64_t size = Unsigned();
  if (size > bytes_.size() - at_) Fail();
  const std::string_view text = AsText(bytes_.subspan(at_, size));
  at_ += size;
  return text;
}

void ThriftReader::SkipElement(unsigned type) {
  // In lists, unlike in structs, a truth value takes a byte.
  if (type == kTrue || type == kFalse)
    Byte();
  else
    Skip(type);
}

void ThriftReader::Skip(unsigned type) {
  switch (type) {
    case kTrue:
    case kFalse: return;  // the field's header contains the value
    case kByte: Byte(); return;
    case 4:  // integers of 16, 32 and 64 bits
    case 5:
    case 6: Unsigned(); return;
    case kDouble:
      if (bytes_.size() - at_ < 8) Fail();
      at_ += 8;
      return;
    case kBinary: Binary(); return;
    case kList:
    case kSet: List([this](unsigned element) { SkipElement(element); }); return;
    case kMap: {
      const Nested nested(*this);
      std::uint64_t count = Unsigned();
      if (count == 0) return;
      const unsigned types = Byte();
      if (count > bytes_.size() - at_) Fail();
      for (; count > 0; --count) {
        SkipElement(types >> 4);
        SkipElement(types & 15);
      }
      return;
    }
    case kStruct: Struct([this](std::int64_t, unsigned field) { Skip(field); }); return;
    default: Fail();
  }
}

namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr std::uint64_t kMaxFooterBytes = 64 << 20;
constexpr std::size_t kMaxLeaves = 4096;
constexpr unsigned kMaxNestedGroups = 32;

struct SchemaNode {
  std::string name;
  std::int64_t type = -1;
  std::int64_t repetition = 0;  // 0 required, 1 optional, 2 repeated
  std::int64_t length = 0;      // of kFixed
  std::int64_t children = 0;
  std::int64_t converted = -1;
  bool text = false;  // according to its logical type
  bool list = false;
  bool odd = false;   // its logical type changes what the number means
  bool half = false;  // a floating-point number of 16 bits
  bool is_unsigned = false;
};

class FooterReader {
 public:
  FooterReader(ParquetFile& file, Bytes footer) : file_(file), thrift_(footer) {}

  void Run() {
    thrift_.Struct([this](std::int64_t id, unsigned type) {
      switch (id) {
        case 2: thrift_.List([this](unsigned) { ReadNode(); }); break;
        case 3: rows_ = thrift_.Integer(); break;
        case 4: thrift_.List([this](unsigned) { ReadGroup(); }); break;
        case 5: thrift_.List([this](unsigned) { ReadMetadata(); }); break;
        default: thrift_.Skip(type);
      }
    });
    if (nodes_.empty()) Fail("its footer has no schema");
    std::size_t next = 1;
    for (std::int64_t i = 0; i < nodes_[0].children; ++i)
      AddLeaves(next, {});
    if (next != nodes_.size()) Fail("its schema is damaged");
    CheckGroups();
  }

 private:
  [[noreturn]] void Fail(const std::string& sentence) const {
    throw Error(ErrorCode::kCorrupt, file_.path.string(), sentence);
  }

  void ReadNode() {
    SchemaNode node;
    thrift_.Struct([&](std::int64_t id, unsigned type) {
      switch (id) {
        case 1: node.type = thrift_.Integer(); break;
        case 2: node.length = thrift_.Integer(); break;
        case 3: node.repetition = thrift_.Integer(); break;
        case 4: node.name = thrift_.Binary(); break;
        case 5: node.children = thrift_.Integer(); break;
        case 6: node.converted = thrift_.Integer(); break;
        case 10:
          thrift_.Struct([&](std::int64_t kind, unsigned inner) {
            node.text = node.text || kind == 1 || kind == 4 || kind == 12;  // text, enum, JSON
            node.list = node.list || kind == 3;
            node.odd = node.odd || kind == 5;  // decimal
            node.half = node.half || kind == 15;
            if (kind != 10 || inner != ThriftReader::kStruct) return thrift_.Skip(inner);
            thrift_.Struct([&](std::int64_t member, unsigned member_type) {  // an integer
              node.is_unsigned |= member == 2 && member_type == ThriftReader::kFalse;
              thrift_.Skip(member_type);
            });
          });
          break;
        default: thrift_.Skip(type);
      }
    });
    // Older files have numbers of ConvertedType instead: text, enum, JSON; list; decimal; unsigned
    // integers of 8 to 64 bits.
    node.text = node.text || node.converted == 0 || node.converted == 4 || node.converted == 19;
    node.list = node.list || node.converted == 3;
    node.odd = node.odd || node.converted == 5;
    node.is_unsigned = node.is_unsigned || (node.converted >= 11 && node.converted <= 14);
    nodes_.push_back(std::move(node));
  }

  void ReadGroup() {
    ParquetGroup group;
    thrift_.Struct([&](std::int64_t id, unsigned type) {
      if (id == 1) {
        thrift_.List([&](unsigned) { group.chunks.push_back(ReadChunk()); });
      } else if (id == 3) {
        group.rows = static_cast<std::uint64_t>(thrift_.Integer());
      } else {
        thrift_.Skip(type);
      }
    });
    file_.groups.push_back(std::move(group));
  }

  ParquetChunk ReadChunk() {
    ParquetChunk chunk;
    std::int64_t codec = 0;
    std::int64_t data = 0;
    std::int64_t dictionary = 0;
    std::int64_t bytes = 0;
    thrift_.Struct([&](std::int64_t id, unsigned type) {
      if (id == 8) {
        throw Error(ErrorCode::kUnsupported, file_.path.string(),
                    "is encrypted; write it again without encryption");
      }
      if (id == 1) Fail("keeps its columns in other files, which Sluice does not read");
      if (id != 3) return thrift_.Skip(type);
      thrift_.Struct([&](std::int64_t member, unsigned inner) {
        switch (member) {
          case 4: codec = thrift_.Integer(); break;
          case 5: chunk.values = static_cast<std::uint64_t>(thrift_.Integer()); break;
          case 7: bytes = thrift_.Integer(); break;
          case 9: data = thrift_.Integer(); break;
          case 11: dictionary = thrift_.Integer(); break;
          default: thrift_.Skip(inner);
        }
      });
    });
    if (codec != 0 && codec != 1 && codec != 6) {
      static constexpr std::array kNames = {"", "", "gzip", "LZO", "Brotli", "LZ4", "", "LZ4"};
      const bool known = codec > 0 && codec < static_cast<std::int64_t>(kNames.size());
      throw Error(ErrorCode::kUnsupported, file_.path.string(),
                  std::string("is compressed with ") +
                      (known ? kNames[static_cast<std::size_t>(codec)] : "an unknown codec") +
                      "; Sluice reads Snappy, zstd and uncompressed columns: write the file again "
                      "in one of these ways");
    }
    if (chunk.values > file_.bytes) {
      throw Error(ErrorCode::kLimit, file_.path.string(),
                  "claims more values in a column than the file has bytes, so it is damaged");
    }
    chunk.codec = static_cast<PageCodec>(codec);
    const std::int64_t offset = dictionary > 0 && dictionary < data ? dictionary : data;
    if (offset < 0 || bytes < 0 || static_cast<std::uint64_t>(offset) > file_.bytes ||
        static_cast<std::uint64_t>(bytes) > file_.bytes - static_cast<std::uint64_t>(offset)) {
      Fail("a column lies outside of the file");
    }
    chunk.offset = static_cast<std::uint64_t>(offset);
    chunk.bytes = static_cast<std::uint64_t>(bytes);
    return chunk;
  }

  void ReadMetadata() {
    std::string key;
    std::string value;
    thrift_.Struct([&](std::int64_t id, unsigned type) {
      if (id == 1)
        key = thrift_.Binary();
      else if (id == 2)
        value = thrift_.Binary();
      else
        thrift_.Skip(type);
    });
    file_.metadata[key] = std::move(value);
  }

  // A place in the schema's tree.
  struct Branch {
    std::string name = {};                       // names of the groups above
    unsigned defined = 0, entry = 0, lists = 0;  // as in ParquetLeaf
    bool nameless = false;  // the next node only forms a list; users do not know its name
    unsigned depth = 0;
  };

  // Adds the leaves at and below nodes_[next], and moves `next` past them: the schema is a tree in
  // preorder.
  void AddLeaves(std::size_t& next, const Branch& outer) {
    if (next >= nodes_.size() || outer.depth > kMaxNestedGroups) Fail("its schema is damaged");
    const SchemaNode& node = nodes_[next++];
    Branch inner = outer;
    if (node.repetition != 0) ++inner.defined;
    if (node.repetition == 2) {
      ++inner.lists;
      inner.entry = inner.defined;
    }
    if (!outer.nameless) inner.name += (inner.name.empty() ? "" : ".") + node.name;
    if (node.children == 0) {
      if (file_.leaves.size() >= kMaxLeaves) {
        throw Error(ErrorCode::kLimit, file_.path.string(), "has more than 4096 columns");
      }
      if (node.type < 0 || node.type > 7) Fail("its schema is damaged");
      ParquetLeaf leaf{inner.name,    static_cast<ParquetType>(node.type),
                       node.text,     !node.odd,
                       inner.defined, inner.entry,
                       inner.lists};
      leaf.is_unsigned = node.is_unsigned;
      if (leaf.type == ParquetType::kFixed && node.half && node.length == 2)
        leaf.type = ParquetType::kHalf;
      leaf.supported =
          leaf.supported && leaf.type != ParquetType::kInt96 && leaf.type != ParquetType::kFixed;
      file_.leaves.push_back(std::move(leaf));
      return;
    }
    // A list is written as a group with one repeated group, which has one element.
    inner.nameless = node.list || (outer.nameless && node.repetition == 2 && node.children == 1);
    ++inner.depth;
    for (std::int64_t i = 0; i < node.children; ++i)
      AddLeaves(next, inner);
  }

  void CheckGroups() {
    for (const ParquetGroup& group : file_.groups) {
      if (group.chunks.size() != file_.leaves.size()) Fail("a group of rows lacks columns");
      if (group.rows > file_.bytes - std::min(file_.rows, file_.bytes)) {
        throw Error(ErrorCode::kLimit, file_.path.string(), "has more rows than bytes");
      }
      file_.rows += group.rows;
    }
    if (rows_ < 0 || static_cast<std::uint64_t>(rows_) != file_.rows) {
      Fail("the rows of its groups do not add up to its number of rows");
    }
  }

  ParquetFile& file_;
  ThriftReader thrift_;
  std::vector<SchemaNode> nodes_;
  std::int64_t rows_ = -1;  // of the whole file, as the footer says
};

}  // namespace

ParquetFile OpenParquet(const std::filesystem::path& path) {
  ParquetFile file;
  file.path = path;
  file.file = OpenForReading(path);
  file.bytes = FileBytes(file.file, path);
  std::array<std::byte, 8> tail{};
  const bool long_enough = file.bytes >= kMagic.size() + tail.size();
  if (long_enough) ReadExactly(file.file, path, file.bytes - tail.size(), tail);
  if (!long_enough || AsText(Bytes(tail).subspan(4)) != kMagic) {
    throw Error(ErrorCode::kCorrupt, path.string(),
                "begins as a Parquet file, but has no footer: it was cut short, or is encrypted");
  }
  const std::uint64_t footer_bytes = LoadAt<std::uint32_t>(tail, 0);
  if (footer_bytes > kMaxFooterBytes) {
    throw Error(ErrorCode::kLimit, path.string(), "has a footer of more than 64 MiB");
  }
  if (footer_bytes > file.bytes - tail.size() - kMagic.size()) {
    throw Error(ErrorCode::kCorrupt, path.string(), "its footer is larger than the file");
  }
  std::vector<std::byte> footer(footer_bytes);
  ReadExactly(file.file, path, file.bytes - tail.size() - footer_bytes, footer);
  try {
    FooterReader(file, footer).Run();
  } catch (const Error& error) {
    if (!error.file().empty()) throw;
    throw Error(error.code(), path.string(), "its footer is damaged: " + error.sentence());
  }
  return file;
}

}  // namespace sluice
