#include "writer/source/beton_fields.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/json_depth.h"
#include "format/disk/limits.h"
#include "writer/text.h"

namespace sluice {

namespace {

using nlohmann::json;

// FieldDescType of ffcv/types.py: the type, the name, the type's own arguments.
constexpr std::size_t kBetonNameAt = 1;
constexpr std::size_t kBetonNameBytes = 16;
constexpr std::size_t kBetonArgumentsAt = kBetonNameAt + kBetonNameBytes;
// NDArrayArgsType: 32 extents, the length of the type's text, which follows.
constexpr std::size_t kBetonExtents = 32;
constexpr std::size_t kBetonTypeAt = kBetonArgumentsAt + kBetonExtents * 8 + 8;

// The type in numpy's text: [["", "<f4"]].
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

template <class T>
json ElementsAs(Bytes content) {
  json elements = json::array();
  for (std::size_t at = 0; at + sizeof(T) <= content.size(); at += sizeof(T))
    elements.push_back(LoadAt<T>(content, at));
  return elements;
}

}  // namespace

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
      throw Error(ErrorCode::kUnsupported,
                  "its field \"" + ToUtf8(field.name) +
                      "\" is of a type of one's own, whose size in a row only its writer knows; "
                      "read it in Python and use sluice.Writer");
  }
  return field;
}

std::size_t PlaceBetonFields(std::vector<BetonField>& fields) {
  std::size_t end = 0;
  std::size_t most = 1;
  for (BetonField& field : fields) {
    using Kind = BetonField::Kind;
    const bool image = field.kind == Kind::kImage;
    const bool located = field.kind == Kind::kBytes || field.kind == Kind::kJson;
    // Numbers are aligned; structs, which numpy packs on their own, are not.
    const std::size_t align = image || located ? 1 : 8;
    field.at = (end + align - 1) / align * align;
    end = field.at + (image ? 13 : located ? 16 : 8);
    most = std::max(most, align);
  }
  return (end + most - 1) / most * most;
}

json BetonNumbers(const BetonField& field, Bytes content) {
  switch (field.dtype.value_or(DType::kUint8)) {
    case DType::kInt8: return ElementsAs<std::int8_t>(content);
    case DType::kInt16: return ElementsAs<std::int16_t>(content);
    case DType::kInt32: return ElementsAs<std::int32_t>(content);
    case DType::kInt64: return ElementsAs<std::int64_t>(content);
    case DType::kUint8: return ElementsAs<std::uint8_t>(content);
    case DType::kUint16: return ElementsAs<std::uint16_t>(content);
    case DType::kFloat32: return ElementsAs<float>(content);
    case DType::kFloat64: return ElementsAs<double>(content);
  }
  return {};
}

}  // namespace sluice
