// FFCV's .beton files, version 2 (FFCV 1.0).
//
// A file is a header, the descriptions of the fields, a table of samples, pages of payloads, and a
// table of each payload's position and size. Images stored as JPEG are used as they are; raw pixels
// are read as a PPM whose header is made here. Of arrays, bytes and JSON only the position is noted
// (Extent); they are read here only for columns that need numbers, such as boxes.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/schema.h>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/record_layout.h"
#include "writer/source/records/image_records.h"
#include "writer/source/records/packed_page.h"
#include "writer/source/records/records.h"
#include "writer/text.h"

namespace sluice {

namespace {

// A field of a .beton file: its description, and where its values lie in a row.
struct BetonField {
  enum class Kind : std::uint8_t { kFloat, kInteger, kImage, kBytes, kArray, kJson };

  std::string name;
  Kind kind = Kind::kInteger;
  std::optional<DType> dtype;        // of kFloat and kArray; nullopt if datasets have no such type
  std::vector<std::uint64_t> shape;  // of kArray
  std::uint64_t bytes = 0;           // of kArray: size of the payload
  std::size_t at = 0;                // offset in a row
};

using nlohmann::json;

// FieldDescType of ffcv/types.py: the type's number, the name, the type's own arguments.
constexpr std::size_t kBetonNameAt = 1;
constexpr std::size_t kBetonNameBytes = 16;
constexpr std::size_t kBetonArgumentsAt = kBetonNameAt + kBetonNameBytes;
// NDArrayArgsType: 32 extents, the length of the element type's name, and that name.
constexpr std::size_t kBetonExtents = 32;
constexpr std::size_t kBetonTypeAt = kBetonArgumentsAt + kBetonExtents * 8 + 8;

// The element type as numpy names it, "<f4", from the text [["", "<f4"]]. Empty if it is damaged.
std::string NumpyType(Bytes description) {
  const auto length = LoadAt<std::uint64_t>(description, kBetonTypeAt - 8);
  if (length > description.size() - kBetonTypeAt) return {};
  const std::string_view text = AsText(description.subspan(kBetonTypeAt, length));
  if (NestsDeeperThan(text, 4)) return {};
  const json type = json::parse(text, nullptr, false);
  if (!type.is_array() || type.size() != 1 || !type[0].is_array() || type[0].size() != 2 ||
      !type[0][1].is_string()) {
    return {};
  }
  return type[0][1].get<std::string>();
}

struct NumpyKind {
  const char* text;  // without the byte order
  std::size_t bytes;
  std::optional<DType> dtype;
};
constexpr NumpyKind kNumpyKinds[] = {
    {"b1", 1, DType::kUint8},
    {"i1", 1, DType::kInt8},
    {"i2", 2, DType::kInt16},
    {"i4", 4, DType::kInt32},
    {"i8", 8, DType::kInt64},
    {"u1", 1, DType::kUint8},
    {"u2", 2, DType::kUint16},
    {"u4", 4, {}},
    {"u8", 8, {}},
    {"f2", 2, {}},
    {"f4", 4, DType::kFloat32},
    {"f8", 8, DType::kFloat64},
};

void ParseArray(Bytes description, BetonField& field) {
  const std::string type = NumpyType(description);
  std::size_t bytes = 0;
  for (const NumpyKind& kind : kNumpyKinds) {
    if (type.size() != 3 || type.substr(1) != kind.text) continue;
    bytes = kind.bytes;
    const bool in_order = type[0] != '>' || bytes == 1;
    if (in_order) field.dtype = kind.dtype;
  }
  if (bytes == 0) {
    throw Error(ErrorCode::kUnsupported,
                "its field \"" + ToUtf8(field.name) +
                    "\" has elements of a type that is not read: " + ToUtf8(type));
  }
  field.bytes = bytes;
  for (std::size_t i = 0; i < kBetonExtents; ++i) {
    const auto extent = LoadAt<std::uint64_t>(description, kBetonArgumentsAt + i * 8);
    if (extent == 0) break;
    if (extent > kMaxPayloadBytes || field.bytes > kMaxPayloadBytes / extent) {
      throw Error(ErrorCode::kLimit,
                  "its field \"" + ToUtf8(field.name) + "\" has more bytes than a sample can have");
    }
    field.bytes *= extent;
    field.shape.push_back(extent);
  }
}

// Throws Error without a file name: kUnsupported (a field type that its user defined), kLimit.
BetonField ParseBetonField(Bytes description) {
  BetonField field;
  const std::string_view name = AsText(description.subspan(kBetonNameAt, kBetonNameBytes));
  field.name = name.substr(0, std::min(name.find('\0'), name.size()));
  using Kind = BetonField::Kind;
  switch (std::to_integer<unsigned>(description[0])) {
    case 0:
      field.kind = Kind::kFloat;
      field.dtype = DType::kFloat64;
      break;
    case 1: field.kind = Kind::kInteger; break;
    case 2: field.kind = Kind::kImage; break;
    case 3: field.kind = Kind::kBytes; break;
    case 4:  // of numpy
    case 6:  // of torch
      field.kind = Kind::kArray;
      ParseArray(description, field);
      break;
    case 5: field.kind = Kind::kJson; break;
    default:
      throw Error(
          ErrorCode::kUnsupported,
          "its field \"" + ToUtf8(field.name) +
              "\" is of a type that its user defined, whose size in a row is not in the file; "
              "read it in Python and use sluice.Writer");
  }
  return field;
}

// Computes the fields' offsets in a row, as numpy aligns them; returns the size of a row.
std::size_t PlaceBetonFields(std::vector<BetonField>& fields) {
  std::size_t end = 0;
  std::size_t most = 1;
  for (BetonField& field : fields) {
    using Kind = BetonField::Kind;
    const bool image = field.kind == Kind::kImage;
    const bool located = field.kind == Kind::kBytes || field.kind == Kind::kJson;
    // Numbers are aligned. Structs are not: numpy has packed each of them on its own.
    const std::size_t align = image || located ? 1 : 8;
    field.at = (end + align - 1) / align * align;
    end = field.at + (image ? 13 : located ? 16 : 8);
    most = std::max(most, align);
  }
  return (end + most - 1) / most * most;
}

// The elements of an array, as numbers.
json BetonNumbers(const BetonField& field, Bytes content) {
  return WithElementType(field.dtype.value_or(DType::kUint8), [content](auto zero) {
    json elements = json::array();
    for (std::size_t at = 0; at + sizeof zero <= content.size(); at += sizeof zero)
      elements.push_back(0 + LoadAt<decltype(zero)>(content, at));  // a float16 becomes a float
    return elements;
  });
}

// HeaderType of ffcv/types.py, as numpy aligns it.
constexpr std::size_t kBetonHeaderBytes = 24;
constexpr std::uint16_t kBetonVersion = 2;
constexpr std::uint64_t kLeastPageBytes = 1 << 21;
constexpr std::size_t kBetonFieldBytes = 1041;
constexpr std::uint64_t kMaxBetonFields = 1024;
constexpr std::uint64_t kAllocationBytes = 24;  // sample, offset, bytes
constexpr std::uint64_t kReadBytes = 1 << 20;   // bytes of a table to read at once

// The payloads' sizes, by their offsets in the file.
class BetonPayloads {
 public:
  void Read(const FileHandle& file, const std::filesystem::path& path, std::uint64_t begin,
            std::uint64_t end) {
    payloads_.reserve((end - begin) / kAllocationBytes);
    std::vector<std::byte> piece;
    for (std::uint64_t at = begin; at < end; at += piece.size()) {
      piece.resize(std::min(end - at, kReadBytes / kAllocationBytes * kAllocationBytes));
      ReadExactly(file, path, at, piece);
      for (std::size_t i = 0; i < piece.size(); i += kAllocationBytes)
        payloads_.push_back(
            {LoadAt<std::uint64_t>(piece, i + 8), LoadAt<std::uint64_t>(piece, i + 16)});
    }
    std::sort(payloads_.begin(), payloads_.end());
  }

  // The size of the payload at that offset; nullopt if none begins there.
  std::optional<std::uint64_t> BytesAt(std::uint64_t offset) const {
    // An empty payload has the offset of the next payload, so the last payload at an offset is
    // meant.
    const auto next =
        std::upper_bound(payloads_.begin(), payloads_.end(), std::pair(offset, UINT64_MAX));
    if (next == payloads_.begin() || std::prev(next)->first != offset) return std::nullopt;
    return std::prev(next)->second;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> payloads_;
};

class BetonRecords final : public ImageRecords {
 public:
  BetonRecords(const ConvertSource& source, std::uint64_t archive, SourceList& list)
      : ImageRecords(source, archive, list), file_(OpenForReading(path_)) {
    ReadHeader();
    FindImage(source.rows.path_column);
  }

  std::vector<Column> UsualColumns(const ConvertSource& source) const override {
    std::vector<Column> columns;
    for (const BetonField& field : fields_) {
      if (field.name == image_field_->name) continue;
      using Kind = BetonField::Kind;
      const bool label = field.name == "label" || field.name == "class";
      if (field.kind == Kind::kInteger && label) {
        if (source.label.store) columns.push_back({field.name, ColumnType::kClass});
      } else if (field.kind == Kind::kInteger) {
        columns.push_back({field.name, ColumnType::kInt});
      } else if (field.kind == Kind::kFloat || (field.kind == Kind::kArray && field.dtype)) {
        columns.push_back({field.name, ColumnType::kFloats});
      } else if (field.kind == Kind::kJson) {
        columns.push_back({field.name, ColumnType::kJson});
      } else if (field.kind == Kind::kBytes) {
        columns.push_back({field.name, ColumnType::kBytes});
      }
    }
    return columns;
  }

  StoredForm FormOf(const std::string& heading) const override {
    for (const BetonField& field : fields_) {
      if (field.name != heading) continue;
      using Kind = BetonField::Kind;
      const bool located =
          field.kind == Kind::kArray || field.kind == Kind::kBytes || field.kind == Kind::kJson;
      StoredForm form{located, field.dtype};
      for (const std::uint64_t extent : field.shape)
        form.shape.push_back(static_cast<std::uint32_t>(extent));
      return form;
    }
    return {};
  }

  bool Next() override {
    if (record_ == rows_) return false;
    if (record_ % table_records_ == 0) {
      table_.resize(std::min(table_records_, rows_ - record_) * record_bytes_);
      ReadExactly(file_, path_, table_at_ + record_ * record_bytes_, table_);
    }
    current_ = Bytes(table_).subspan((record_ % table_records_) * record_bytes_, record_bytes_);
    ++record_;
    TakeImage();
    return true;
  }

  json Get(const std::string& heading) const override {
    for (const BetonField& field : fields_) {
      if (field.name != heading) continue;
      switch (field.kind) {
        case BetonField::Kind::kInteger: return LoadAt<std::int64_t>(current_, field.at);
        case BetonField::Kind::kFloat: return LoadAt<double>(current_, field.at);
        default: return PayloadOf(field);
      }
    }
    return {};
  }

  std::string why_no_image() const override { return trouble_; }

 private:
  [[noreturn]] void Fail(ErrorCode code, const std::string& sentence) const {
    throw Error(code, path_.string(), sentence);
  }

  void ReadHeader() {
    const std::uint64_t bytes = FileBytes(file_, path_);
    std::array<std::byte, kBetonHeaderBytes> header{};
    ReadExactly(file_, path_, 0, header);
    const auto version = LoadAt<std::uint16_t>(header, 0);
    if (version != kBetonVersion) {
      Fail(ErrorCode::kUnsupported, "is a .beton of version " + std::to_string(version) +
                                        "; Sluice reads version 2, which FFCV 1.0 writes");
    }
    const std::uint64_t count = LoadAt<std::uint16_t>(header, 2);
    rows_ = LoadAt<std::uint64_t>(header, 8);
    data_end_ = LoadAt<std::uint64_t>(header, 16);
    table_at_ = kBetonHeaderBytes + count * kBetonFieldBytes;
    if (count == 0 || count > kMaxBetonFields || table_at_ > bytes) {
      Fail(ErrorCode::kCorrupt, "is damaged: it cannot have " + std::to_string(count) + " fields");
    }
    if (data_end_ == 0) {
      Fail(ErrorCode::kCorrupt, "was never finished: it has no table of payloads");
    }
    std::vector<std::byte> described(count * kBetonFieldBytes);
    ReadExactly(file_, path_, kBetonHeaderBytes, described);
    for (std::uint64_t f = 0; f < count; ++f) {
      try {
        fields_.push_back(
            ParseBetonField(Bytes(described).subspan(f * kBetonFieldBytes, kBetonFieldBytes)));
      } catch (const Error& error) {
        Fail(error.code(), error.sentence());
      }
    }
    record_bytes_ = PlaceBetonFields(fields_);
    if (data_end_ > bytes || data_end_ < table_at_ ||
        rows_ > (data_end_ - table_at_) / record_bytes_) {
      Fail(ErrorCode::kCorrupt, "is damaged: its tables would lie outside the file");
    }
    data_begin_ = table_at_ + rows_ * record_bytes_;
    if ((bytes - data_end_) % kAllocationBytes != 0) {
      Fail(ErrorCode::kCorrupt, "is cut short in its table of payloads");
    }
    payloads_.Read(file_, path_, data_end_, bytes);
    table_records_ = std::max<std::uint64_t>(1, kReadBytes / record_bytes_);
  }

  void FindImage(const std::string& wanted) {
    for (const BetonField& field : fields_) {
      const bool meant = wanted.empty() || wanted == field.name;
      if (image_field_ == nullptr && meant && field.kind == BetonField::Kind::kImage)
        image_field_ = &field;
    }
    for (const BetonField& field : fields_) {
      if (&field != image_field_) headings_.push_back(field.name);
    }
    if (image_field_ != nullptr) return;
    Fail(ErrorCode::kInvalidArgument,
         wanted.empty() ? "has no field of images; it has: " + ListedHeadings(headings_)
                        : "has no field \"" + ToUtf8(wanted) + "\" of images" +
                              HeadingsInstead(wanted, headings_));
  }

  // The position of a payload. Throws Error(kCorrupt) if it lies outside the payloads.
  Extent ExtentAt(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset < data_begin_ || !Inside(offset, bytes, data_end_)) {
      throw Error(ErrorCode::kCorrupt,
                  "a value's position is outside the file, which is damaged or cut short");
    }
    return {offset, bytes, archive_};
  }

  // Finds the row's image. Raw pixels (mode 1) lack a file's header, so they are listed as a page
  // that is read as a PPM.
  void TakeImage() {
    const std::size_t at = image_field_->at;
    const std::uint64_t width = LoadAt<std::uint16_t>(current_, at + 1);
    const std::uint64_t height = LoadAt<std::uint16_t>(current_, at + 3);
    const auto offset = LoadAt<std::uint64_t>(current_, at + 5);
    const auto mode = std::to_integer<unsigned>(current_[at]);
    image_.reset();
    sniffed_ = {};
    const std::optional<std::uint64_t> bytes = payloads_.BytesAt(offset);
    trouble_ = "its image is not one of the file's payloads";
    if (!bytes) return;
    try {
      if (mode == 0) {
        image_ = ExtentAt(offset, *bytes);
        sniffed_ = {ImageKind::kJpeg, "JPEG"};
        return;
      }
      trouble_ = "its image is stored in a mode that Sluice does not know";
      if (mode != 1) return;
      trouble_ = "its image does not have the number of bytes that width and height give";
      if (width == 0 || height == 0 || *bytes != width * height * 3) return;
      const Extent pixels = ExtentAt(offset, *bytes);
      const std::uint64_t plain =
          PpmHeader(*bytes, static_cast<std::uint32_t>(width)).size() + *bytes;
      list_.pages.push_back({archive_, pixels.offset, *bytes, plain, PageCodec::kPixels,
                             static_cast<std::uint32_t>(width)});
      image_ = Extent{0, plain, kInPage | (list_.pages.size() - 1)};
      sniffed_ = {ImageKind::kPnm, "PPM"};
    } catch (const Error& error) {
      image_.reset();
      trouble_ = error.sentence();
    }
  }

  // The position of an array, bytes or JSON; or its elements, if the column needs numbers.
  json PayloadOf(const BetonField& field) const {
    const auto offset = LoadAt<std::uint64_t>(current_, field.at);
    const bool array = field.kind == BetonField::Kind::kArray;
    std::uint64_t bytes = array ? field.bytes : LoadAt<std::uint64_t>(current_, field.at + 8);
    // JSON is stored with a zero byte at its end.
    if (field.kind == BetonField::Kind::kJson && bytes > 0) --bytes;
    const Extent extent = ExtentAt(offset, bytes);
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(&extent);
    if (!numbers_wanted_.contains(field.name)) {
      return json::binary(std::vector<std::uint8_t>(begin, begin + sizeof extent));
    }
    std::vector<std::byte> content(bytes);
    ReadExactly(file_, path_, offset, content);
    return BetonNumbers(field, content);
  }

  void ReadNumbersOf(const std::string& heading) override { numbers_wanted_.insert(heading); }

  FileHandle file_;
  std::vector<BetonField> fields_;
  const BetonField* image_field_ = nullptr;
  std::set<std::string> numbers_wanted_;  // the headings of ReadNumbersOf()
  BetonPayloads payloads_;

  std::uint64_t rows_ = 0, record_bytes_ = 0;
  std::uint64_t table_at_ = 0;                   // of the samples
  std::uint64_t data_begin_ = 0, data_end_ = 0;  // of the payloads
  std::uint64_t table_records_ = 1;              // rows to read at once
  std::vector<std::byte> table_;
  Bytes current_;        // the current row
  std::string trouble_;  // why it has no image, if it has none
};

}  // namespace

bool IsBeton(Bytes start) noexcept {
  if (start.size() < kBetonStartBytes || LoadAt<std::uint16_t>(start, 0) == 0) return false;
  const std::uint64_t page = LoadAt<std::uint32_t>(start, 4);
  const auto type = std::to_integer<unsigned>(start[kBetonHeaderBytes]);
  const auto name = std::to_integer<unsigned>(start[kBetonHeaderBytes + 1]);
  return LoadAt<std::uint16_t>(start, 0) < 100 && LoadAt<std::uint16_t>(start, 2) > 0 &&
         LoadAt<std::uint16_t>(start, 2) <= kMaxBetonFields && page >= kLeastPageBytes &&
         (page & (page - 1)) == 0 && (type <= 6 || type == 255) && name > ' ' && name < 127;
}

SourceList ReadBeton(const ConvertSource& source, const std::stop_token& stop) {
  return ReadImageRecordsOf<BetonRecords>(source, stop);
}

}  // namespace sluice
