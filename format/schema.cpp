// The names of types, kinds and roles stand in arrays in the order of their enumerators. A number
// beyond its array has the name "": format/disk/json.cpp finds a name by trying one number after
// another until it meets that.
// A field may follow one that stands after it, so ValidateField() searches the whole schema.
// Validate() lays out the row last, when it knows that no array is larger than a row may be.
#include <algorithm>
#include <tuple>
#include <type_traits>
#include <unordered_set>

#include <sluice/error.h>
#include <sluice/schema.h>

#include "format/disk/limits.h"
#include "format/disk/record_layout.h"
#include "format/half.h"

namespace sluice {

namespace {

// The names of the enumerators, in their order.
constexpr std::string_view kDTypeNames[] = {"int8",   "int16",   "int32",   "int64",  "uint8",
                                            "uint16", "float32", "float64", "float16"};
constexpr std::string_view kKindNames[] = {"image", "bytes", "array", "variable"};
// Of these, boxes, keypoints and instances follow an image.
constexpr std::string_view kRoleNames[] = {"none",      "image", "mask", "label",    "boxes",
                                           "keypoints", "text",  "json", "instances"};

template <class Enum, std::size_t kCount>
std::string_view NameAmong(const std::string_view (&names)[kCount], Enum value) noexcept {
  const auto at = static_cast<std::size_t>(value);
  return at < kCount ? names[at] : "";
}

}  // namespace

Float16::Float16(float number) noexcept : bits(HalfOf(number)) {}

Float16::operator float() const noexcept {
  return OfHalf(bits);
}

std::size_t SizeOf(DType type) noexcept {
  if (NameOf(type).empty()) return 0;
  return WithElementType(type, [](auto zero) { return sizeof zero; });
}

bool IsInteger(DType type) noexcept {
  return !NameOf(type).empty() &&
         WithElementType(type, [](auto zero) { return std::is_integral_v<decltype(zero)>; });
}

std::string_view NameOf(DType type) noexcept {
  return NameAmong(kDTypeNames, type);
}

std::string_view NameOf(FieldKind kind) noexcept {
  return NameAmong(kKindNames, kind);
}

std::string_view NameOf(Role role) noexcept {
  return NameAmong(kRoleNames, role);
}

std::uint64_t Field::elements() const noexcept {
  // Schema::Validate() bounds the product. It saturates for a shape that was not validated.
  std::uint64_t product = 1;
  for (const std::uint32_t extent : shape) {
    if (extent != 0 && product > UINT64_MAX / extent) return UINT64_MAX;
    product *= extent;
  }
  return product;
}

namespace {

bool IsIntegerLabel(const Field& field) noexcept {
  return field.role == Role::kLabel && field.kind == FieldKind::kArray && field.shape.empty() &&
         IsInteger(field.dtype);
}

template <class Fits>
std::size_t FirstField(const Schema& schema, Fits fits) noexcept {
  const auto found = std::find_if(schema.fields.begin(), schema.fields.end(), fits);
  return found == schema.fields.end() ? Schema::kNone
                                      : static_cast<std::size_t>(found - schema.fields.begin());
}

}  // namespace

bool operator==(const Field& a, const Field& b) noexcept {
  const auto members = [](const Field& field) {
    return std::tie(field.name, field.kind, field.dtype, field.shape, field.role, field.follows,
                    field.coordinates, field.classes, field.attributes);
  };
  return members(a) == members(b);
}

bool Field::numbers_classes() const noexcept {
  return IsIntegerLabel(*this) && !classes.empty();
}

Field Field::Image(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kImage;
  field.role = Role::kImage;
  return field;
}

Field Field::Mask(std::string name, std::string follows) {
  Field field = Image(std::move(name));
  field.role = Role::kMask;
  field.follows = std::move(follows);
  return field;
}

Field Field::Label(std::string name, std::vector<std::string> classes) {
  Field field = Array(std::move(name), DType::kInt32, {});
  field.role = Role::kLabel;
  field.classes = std::move(classes);
  return field;
}

Field Field::Array(std::string name, DType dtype, std::vector<std::uint32_t> shape) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kArray;
  field.dtype = dtype;
  field.shape = std::move(shape);
  return field;
}

Field Field::Variable(std::string name, DType dtype, std::vector<std::uint32_t> inner_shape) {
  Field field = Array(std::move(name), dtype, std::move(inner_shape));
  field.kind = FieldKind::kVariable;
  return field;
}

Field Field::Bytes(std::string name, Role role) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kBytes;
  field.role = role;
  return field;
}

std::size_t Schema::Find(std::string_view name) const noexcept {
  return FirstField(*this, [name](const Field& field) { return field.name == name; });
}

std::size_t Schema::FindRole(Role role) const noexcept {
  return FirstField(*this, [role](const Field& field) { return field.role == role; });
}

std::size_t Schema::ClassField() const noexcept {
  return FirstField(*this, [](const Field& field) { return field.numbers_classes(); });
}

std::size_t Schema::LabelField() const noexcept {
  const std::size_t counted = ClassField();
  return counted != kNone ? counted : FirstField(*this, IsIntegerLabel);
}

namespace {

[[noreturn]] void Refuse(ErrorCode code, const Field& field, const std::string& what) {
  throw Error(code, "field \"" + field.name + "\": " + what);
}

void ValidateField(const Schema& schema, const Field& field) {
  if (field.name.empty() || field.name.size() > kMaxNameBytes) {
    Refuse(ErrorCode::kInvalidArgument, field, "a field's name has 1 to 255 bytes");
  }
  if (field.shape.size() > kMaxDimensions) {
    Refuse(ErrorCode::kLimit, field, "a shape has at most 8 extents");
  }
  const bool array = field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable;
  if (!array && !field.shape.empty()) {
    Refuse(ErrorCode::kInvalidArgument, field, "only array and variable fields have a shape");
  }
  if (array && std::find(field.shape.begin(), field.shape.end(), 0U) != field.shape.end()) {
    Refuse(ErrorCode::kInvalidArgument, field, "an extent of a shape is at least 1");
  }
  if (array && field.elements() > kMaxRecordBytes) {
    Refuse(ErrorCode::kLimit, field, "a shape has at most 65536 elements");
  }
  const bool image = field.kind == FieldKind::kImage;
  if ((field.role == Role::kImage || field.role == Role::kMask) && !image) {
    Refuse(ErrorCode::kInvalidArgument, field, "the roles image and mask need an image field");
  }
  if (field.role == Role::kInstances && field.kind != FieldKind::kBytes) {
    Refuse(ErrorCode::kInvalidArgument, field, "the role instances needs a bytes field");
  }
  if (!field.follows.empty()) {
    const std::size_t followed = schema.Find(field.follows);
    if (followed == Schema::kNone || schema.fields[followed].kind != FieldKind::kImage) {
      Refuse(ErrorCode::kInvalidArgument, field,
             "follows \"" + field.follows + "\", which is not an image field of this schema");
    }
    if (!schema.fields[followed].follows.empty()) {
      Refuse(ErrorCode::kInvalidArgument, field,
             "follows \"" + field.follows + "\", which itself follows a field");
    }
  }
}

}  // namespace

void Schema::Validate(bool one_record) const {
  if (fields.empty()) throw Error(ErrorCode::kInvalidArgument, "a schema has at least one field");
  if (fields.size() > kMaxFields) {
    throw Error(ErrorCode::kLimit,
                "a schema has at most " + std::to_string(kMaxFields) + " fields");
  }
  std::unordered_set<std::string_view> names;
  for (const Field& field : fields) {
    ValidateField(*this, field);
    if (!names.insert(field.name).second) {
      Refuse(ErrorCode::kInvalidArgument, field, "two fields have this name");
    }
  }
  if (one_record && RecordLayout(*this).record_bytes() > kMaxRecordBytes) {
    throw Error(ErrorCode::kLimit,
                "the fields take more than 65536 bytes in a sample's row; store large arrays as "
                "variable or bytes fields");
  }
}

}  // namespace sluice
