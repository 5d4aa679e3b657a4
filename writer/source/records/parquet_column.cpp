// A column's values in a group of rows lie in pages. A page has levels and values. The levels say,
// for each entry, whether it begins a new row or continues a list, and whether it is null; only
// entries that are not null have a value. Values are stored plain, or as indices into a dictionary,
// which is a page of its own before the others.
//
// Images are located, not read. Their extents lie in the file itself if the page is not compressed;
// otherwise in a page that is added to the list and unpacked when the image is converted.
//
// The file is not trusted: every size in a page's head is compared with what is left of the column,
// and memory for a decompressed page is taken as its bytes come if its claimed size is unlikely.
#include "writer/source/records/parquet_column.h"

#include <algorithm>
#include <bit>

#include <sluice/error.h>

#include "format/disk/zstd.h"
#include "format/half.h"
#include "writer/source/records/packed_page.h"
#include "writer/source/records/parquet_file.h"

namespace sluice {

namespace {

constexpr std::uint64_t kMaxHeadBytes = 1 << 20;
constexpr std::uint64_t kMaxHeldBytes = 256 << 20;  // the largest page that is held in memory
constexpr std::uint64_t kMaxDictionaryValues = 1 << 20;

enum PageType : std::int64_t { kDataPage = 0, kDictionaryPage = 2, kDataPage2 = 3 };
enum Encoding : std::int64_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kBitPacked = 4,
  kRleDictionary = 8
};

std::uint64_t Unsigned(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

unsigned WidthOf(unsigned level) {
  return static_cast<unsigned>(std::bit_width(level));
}

}  // namespace

std::uint32_t ParquetColumn::Runs::Next() {
  if (width_ == 0) return 0;
  const auto damaged = [] { throw Error(ErrorCode::kCorrupt, "a page ends within its levels"); };
  if (left_ == 0) {
    std::uint64_t head = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at_ >= bytes_.size() || shift > 35) damaged();
      const auto byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
      head |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    packed_ = (head & 1) != 0;
    if (packed_) {
      left_ = (head >> 1) * 8;
      // The last group of eight numbers may end after the last value.
      const std::uint64_t bytes = (head >> 1) * width_;
      end_ = bytes > bytes_.size() - at_ ? bytes_.size() : at_ + bytes;
      bit_ = 0;
    } else {
      left_ = head >> 1;
      repeated_ = 0;
      for (unsigned i = 0; i < (width_ + 7) / 8; ++i) {
        if (at_ >= bytes_.size()) damaged();
        repeated_ |= std::to_integer<std::uint32_t>(bytes_[at_++]) << (8 * i);
      }
    }
    if (left_ == 0) damaged();
  }
  --left_;
  if (!packed_) return repeated_;
  std::uint64_t number = 0;
  for (unsigned done = 0; done < width_;) {
    const std::size_t byte = at_ + (bit_ >> 3);
    if (byte >= end_) damaged();
    const unsigned shift = bit_ & 7;
    number |= (std::to_integer<std::uint64_t>(bytes_[byte]) >> shift) << done;
    done += 8 - shift;
    bit_ += 8 - shift;
    // The last byte also held bits of the next number: go back to the first of them.
    if (done > width_) bit_ -= done - width_;
  }
  if (left_ == 0) at_ = end_;
  return static_cast<std::uint32_t>(number & ((std::uint64_t{1} << width_) - 1));
}

nlohmann::json CellOf(const ParquetLeaf& leaf, const ParquetValue& value) {
  switch (leaf.type) {
    case ParquetType::kBytes: return std::string(AsText(value.bytes));
    case ParquetType::kHalf:
    case ParquetType::kFloat:
    case ParquetType::kDouble: return value.number;
    default: break;
  }
  // As an unsigned number, one of 2^63 or more is refused, and not taken as negative.
  if (leaf.is_unsigned) return static_cast<std::uint64_t>(value.integer);
  return value.integer;
}

ParquetColumn::ParquetColumn(const ParquetFile& file, const ParquetChunk& chunk,
                             const ParquetLeaf& leaf, SourceList* located, std::uint64_t archive)
    : file_(file),
      chunk_(chunk),
      leaf_(leaf),
      located_(located),
      archive_(archive),
      at_(chunk.offset) {}

void ParquetColumn::Fail(const std::string& sentence) const {
  throw Error(ErrorCode::kCorrupt, file_.path.string(), "column " + leaf_.name + ": " + sentence);
}

void ParquetColumn::NextRow(const std::function<void(const ParquetValue&)>& visit) {
  try {
    if (!pending_ && !NextLevels()) Fail("has fewer rows than its file");
    if (list_level_ != 0) Fail("a row begins within another");
    do {
      pending_ = false;
      if (defined_level_ == leaf_.defined) {
        ParquetValue value;
        ReadValue(value);
        visit(value);
      } else if (leaf_.lists > 0 && defined_level_ >= leaf_.entry) {
        ParquetValue value;
        value.missing = true;
        visit(value);
      }
      if (leaf_.lists == 0) return;
      // List level 0 begins the next row. Its levels are read already, and kept for the next call
      // (pending_).
    } while (NextLevels() && list_level_ > 0);
  } catch (const Error& error) {
    if (!error.file().empty()) throw;
    Fail(error.sentence());
  }
}

bool ParquetColumn::NextLevels() {
  while (page_left_ == 0) {
    if (values_seen_ >= chunk_.values) return false;
    NextPage();
  }
  --page_left_;
  ++values_seen_;
  list_level_ = leaf_.lists == 0 ? 0 : list_levels_.Next();
  defined_level_ = leaf_.defined == 0 ? 0 : defined_levels_.Next();
  if (defined_level_ > leaf_.defined || list_level_ > leaf_.lists) Fail("has impossible levels");
  pending_ = true;
  return true;
}

std::uint64_t ParquetColumn::ReadHead(PageHead& head) {
  const std::uint64_t left = chunk_.offset + chunk_.bytes - at_;
  std::vector<std::byte> bytes;
  // Most page headers are short. One with statistics of long texts is not, and is read again with
  // more bytes.
  for (std::uint64_t size = 256;; size *= 16) {
    bytes.resize(std::min({size, left, kMaxHeadBytes}));
    ReadExactly(file_.file, file_.path, at_, bytes);
    ThriftReader thrift(bytes);
    head = {};
    try {
      thrift.Struct([&](std::int64_t id, unsigned type) {
        const auto member = [&](std::int64_t& number) { number = thrift.Integer(); };
        switch (id) {
          case 1: return member(head.type);
          case 2: return member(head.plain_bytes);
          case 3: return member(head.stored_bytes);
          case 5:
            return thrift.Struct([&](std::int64_t inner, unsigned inner_type) {
              if (inner == 1) return member(head.values);
              if (inner == 2) return member(head.encoding);
              if (inner != 3 && inner != 4) return thrift.Skip(inner_type);
              if (thrift.Integer() == kBitPacked) {
                throw Error(
                    ErrorCode::kUnsupported, file_.path.string(),
                    "column " + leaf_.name + " has levels in an old form; write the file again");
              }
            });
          case 7:
            return thrift.Struct([&](std::int64_t inner, unsigned inner_type) {
              if (inner == 1) return member(head.values);
              if (inner == 2) return member(head.encoding);
              thrift.Skip(inner_type);
            });
          case 8:
            return thrift.Struct([&](std::int64_t inner, unsigned inner_type) {
              switch (inner) {
                case 1: return member(head.values);
                case 4: return member(head.encoding);
                case 5: return member(head.defined_bytes);
                case 6: return member(head.list_bytes);
                case 7: head.compressed = inner_type == ThriftReader::kTrue; return;
                default: thrift.Skip(inner_type);
              }
            });
          default: thrift.Skip(type);
        }
      });
      return thrift.position();
    } catch (const Error& error) {
      const bool more = bytes.size() < std::min(left, kMaxHeadBytes);
      if (error.code() != ErrorCode::kCorrupt || !more) throw;
    }
  }
}

void ParquetColumn::NextPage() {
  if (at_ >= chunk_.offset + chunk_.bytes) Fail("has fewer pages than its values need");
  PageHead head;
  const std::uint64_t offset = at_ + ReadHead(head);
  const std::uint64_t left = chunk_.offset + chunk_.bytes - offset;
  if (head.stored_bytes < 0 || head.plain_bytes < 0 || Unsigned(head.stored_bytes) > left ||
      head.values < 0) {
    Fail("a page is larger than its column");
  }
  at_ = offset + Unsigned(head.stored_bytes);
  if (head.type == kDictionaryPage) return TakeDictionary(head, offset);
  // Pages of other types (indexes) hold no values: NextLevels() asks for the next page.
  if (head.type == kDataPage || head.type == kDataPage2) return TakePage(head, offset);
}

void ParquetColumn::Load(std::uint64_t offset, std::uint64_t stored, std::uint64_t plain,
                         bool compressed, std::vector<std::byte>& content) const {
  if (stored > kMaxHeldBytes || plain > kMaxHeldBytes) {
    throw Error(ErrorCode::kLimit, file_.path.string(),
                "column " + leaf_.name +
                    " has a page of more than 256 MiB; write the file with smaller pages");
  }
  content.resize(stored);
  ReadExactly(file_.file, file_.path, offset, content);
  if (!compressed) return;
  const std::vector<std::byte> packed = std::move(content);
  content.clear();
  // Snappy unpacks each byte to fewer than 32. If zstd makes more, memory is taken as the bytes
  // come, because the size in the page's head may be wrong.
  const bool usual = plain / 32 <= stored;
  if (usual) content.resize(plain);
  if (usual ? !UnpackPage({.codec = chunk_.codec}, packed, content)
            : chunk_.codec != PageCodec::kZstd || !ZstdAppend(packed, plain, content)) {
    Fail("a page cannot be decompressed");
  }
}

void ParquetColumn::TakeDictionary(const PageHead& head, std::uint64_t offset) {
  if (has_dictionary_) Fail("has two dictionaries");
  if (head.encoding != kPlain && head.encoding != kPlainDictionary) {
    Fail("has a dictionary in a form that is not read");
  }
  has_dictionary_ = true;
  TakeValues(head, offset, Unsigned(head.stored_bytes), Unsigned(head.plain_bytes),
             chunk_.codec != PageCodec::kNone, 0);
  if (Unsigned(head.values) > kMaxDictionaryValues || Unsigned(head.values) > plain_.bytes) {
    Fail("has a dictionary of too many values");
  }
  for (std::int64_t i = 0; i < head.values; ++i) {
    ParquetValue value;
    ReadPlain(value);
    dictionary_.push_back(value);
  }
  // After the swap, the values' bytes are still at the same addresses.
  dictionary_page_.swap(page_);
}

void ParquetColumn::TakePage(const PageHead& head, std::uint64_t offset) {
  const std::uint64_t stored = Unsigned(head.stored_bytes);
  const std::uint64_t plain = Unsigned(head.plain_bytes);
  const bool second = head.type == kDataPage2;
  const bool compressed = chunk_.codec != PageCodec::kNone && (!second || head.compressed);
  page_left_ = Unsigned(head.values);
  if (page_left_ > chunk_.values - values_seen_) Fail("has more values than its file says");
  if (!compressed && stored != plain) Fail("a page has two sizes");
  if (second) {
    if (head.list_bytes < 0 || head.defined_bytes < 0 || Unsigned(head.list_bytes) > stored ||
        Unsigned(head.defined_bytes) > stored - Unsigned(head.list_bytes)) {
      Fail("the levels are larger than their page");
    }
    const std::uint64_t lists = Unsigned(head.list_bytes);
    const std::uint64_t levels = lists + Unsigned(head.defined_bytes);
    if (plain < levels) Fail("the levels are larger than their page");
    Load(offset, levels, levels, false, levels_);
    list_levels_ = Runs(Bytes(levels_).first(lists), WidthOf(leaf_.lists));
    defined_levels_ = Runs(Bytes(levels_).subspan(lists), WidthOf(leaf_.defined));
    return TakeValues(head, offset + levels, stored - levels, plain - levels, compressed, 0);
  }
  // In version 1, each kind of levels is preceded by its length, and levels and values are
  // compressed together.
  Bytes in_memory;
  if (compressed) {
    Load(offset, stored, plain, true, page_);
    in_memory = page_;
  }
  std::uint64_t levels = 0;
  levels_.clear();
  std::array<std::uint64_t, 2> sizes{};
  const std::array<unsigned, 2> most = {leaf_.lists, leaf_.defined};
  for (std::size_t i = 0; i < 2; ++i) {
    if (most[i] == 0) continue;
    std::array<std::byte, 4> length{};
    if (plain - levels < 4) Fail("the levels are larger than their page");
    const auto read = [&](std::uint64_t from, std::span<std::byte> to) {
      if (compressed)
        std::copy_n(in_memory.begin() + static_cast<std::ptrdiff_t>(from), to.size(), to.begin());
      else
        ReadExactly(file_.file, file_.path, offset + from, to);
    };
    read(levels, length);
    sizes[i] = LoadAt<std::uint32_t>(length, 0);
    if (sizes[i] > plain - levels - 4 || sizes[i] > kMaxHeldBytes) {
      Fail("the levels are larger than their page");
    }
    levels_.resize(levels_.size() + sizes[i]);
    read(levels + 4, std::span(levels_).last(sizes[i]));
    levels += 4 + sizes[i];
  }
  list_levels_ = Runs(Bytes(levels_).first(sizes[0]), WidthOf(leaf_.lists));
  defined_levels_ = Runs(Bytes(levels_).subspan(sizes[0]), WidthOf(leaf_.defined));
  TakeValues(head, offset, stored, plain, compressed, levels);
}

// Prepares `plain_` or `indices_` for reading a page's values. `levels`: the number of bytes of
// levels that precede the values.
void ParquetColumn::TakeValues(const PageHead& head, std::uint64_t offset, std::uint64_t stored,
                               std::uint64_t plain, bool compressed, std::uint64_t levels) {
  const bool loaded = compressed && levels > 0;  // TakePage() has loaded the page for its levels
  in_dictionary_ = head.type != kDictionaryPage &&
                   (head.encoding == kPlainDictionary || head.encoding == kRleDictionary);
  const bool plain_values = head.type == kDictionaryPage || head.encoding == kPlain;
  in_runs_ =
      head.type != kDictionaryPage && head.encoding == kRle && leaf_.type == ParquetType::kBool;
  if (!in_dictionary_ && !plain_values && !in_runs_) {
    static constexpr std::array kNames = {"",
                                          "",
                                          "",
                                          "RLE",
                                          "BIT_PACKED",
                                          "DELTA_BINARY_PACKED",
                                          "DELTA_LENGTH_BYTE_ARRAY",
                                          "DELTA_BYTE_ARRAY",
                                          "",
                                          "BYTE_STREAM_SPLIT"};
    const bool known =
        head.encoding >= 0 && head.encoding < static_cast<std::int64_t>(kNames.size());
    throw Error(ErrorCode::kUnsupported, file_.path.string(),
                "column " + leaf_.name + " has the encoding " +
                    (known ? kNames[Unsigned(head.encoding)] : "(unknown)") +
                    ", which is not read; write the file again with PLAIN or a dictionary");
  }
  if (in_dictionary_ && !has_dictionary_) Fail("has no dictionary");
  plain_ = {};
  plain_.bytes = plain - levels;
  plain_.archive = archive_;
  // Images in a page that is not compressed are not read now: only their lengths, to find them, and
  // their first bytes.
  if (located_ != nullptr && !compressed && plain_values) {
    plain_.file_offset = offset + levels;
    plain_.extent_base = offset + levels;
    return;
  }
  if (!loaded) Load(offset, stored, plain, compressed, page_);
  plain_.memory = Bytes(page_).subspan(levels);
  plain_.extent_base = levels;
  if (located_ != nullptr && plain_values) {
    plain_.archive = kInPage | located_->pages.size();
    // The conversion unpacks the page again when it reads an image: keeping all pages would take
    // the memory of the whole column.
    located_->pages.push_back({archive_, offset, stored, plain, chunk_.codec});
  }
  if (in_runs_ && plain_.memory.size() >= 4) {  // the runs follow their length
    indices_ = Runs(plain_.memory.subspan(4), 1);
    return;
  }
  if (!in_dictionary_ && !in_runs_) return;
  if (plain_.memory.empty() || in_runs_) {  // every value is null
    indices_ = Runs({}, 1);
    return;
  }
  const unsigned width = std::to_integer<unsigned>(plain_.memory[0]);
  if (width > 32) Fail("has indices of more than 32 bits into its dictionary");
  indices_ = Runs(plain_.memory.subspan(1), width);
}

std::uint32_t ParquetColumn::PlainLength(const Plain& plain) const {
  if (plain.bytes - plain.at < 4) Fail("a page ends within its values");
  if (plain.file_offset == 0) return LoadAt<std::uint32_t>(plain.memory, plain.at);
  std::array<std::byte, 4> length{};
  ReadExactly(file_.file, file_.path, plain.file_offset + plain.at, length);
  return LoadAt<std::uint32_t>(length, 0);
}

void ParquetColumn::ReadPlain(ParquetValue& value) {
  if (leaf_.type == ParquetType::kBytes) {
    const std::uint64_t length = PlainLength(plain_);
    plain_.at += 4;
    if (length > plain_.bytes - plain_.at) Fail("a page ends within its values");
    if (located_ != nullptr) {
      value.extent = {plain_.extent_base + plain_.at, length, plain_.archive};
      const std::span<std::byte> start =
          std::span(value.start).first(std::min<std::size_t>(length, kSniffBytes));
      if (plain_.file_offset != 0) {
        ReadExactly(file_.file, file_.path, plain_.file_offset + plain_.at, start);
      } else {
        std::copy_n(plain_.memory.begin() + static_cast<std::ptrdiff_t>(plain_.at), start.size(),
                    start.begin());
      }
    } else {
      value.bytes = plain_.memory.subspan(plain_.at, length);
    }
    plain_.at += length;
    return;
  }
  if (leaf_.type == ParquetType::kBool) {
    if (plain_.bit / 8 >= plain_.memory.size()) Fail("a page ends within its values");
    value.integer = std::to_integer<int>(plain_.memory[plain_.bit / 8]) >> (plain_.bit % 8) & 1;
    ++plain_.bit;
    return;
  }
  const bool four = leaf_.type == ParquetType::kInt32 || leaf_.type == ParquetType::kFloat;
  const std::uint64_t size = leaf_.type == ParquetType::kHalf ? 2 : four ? 4 : 8;
  if (plain_.memory.size() - plain_.at < size) Fail("a page ends within its values");
  switch (leaf_.type) {
    case ParquetType::kInt32:
      if (leaf_.is_unsigned)
        value.integer = LoadAt<std::uint32_t>(plain_.memory, plain_.at);
      else
        value.integer = LoadAt<std::int32_t>(plain_.memory, plain_.at);
      break;
    case ParquetType::kInt64: value.integer = LoadAt<std::int64_t>(plain_.memory, plain_.at); break;
    case ParquetType::kHalf:
      value.number = OfHalf(LoadAt<std::uint16_t>(plain_.memory, plain_.at));
      break;
    case ParquetType::kFloat: value.number = LoadAt<float>(plain_.memory, plain_.at); break;
    case ParquetType::kDouble: value.number = LoadAt<double>(plain_.memory, plain_.at); break;
    default: Fail("has a type that is not read");
  }
  plain_.at += size;
}

void ParquetColumn::ReadValue(ParquetValue& value) {
  if (in_runs_) {
    value.integer = indices_.Next();
    return;
  }
  if (!in_dictionary_) return ReadPlain(value);
  const std::uint32_t index = indices_.Next();
  if (index >= dictionary_.size()) Fail("names a value that its dictionary does not have");
  value = dictionary_[index];
}

}  // namespace sluice
