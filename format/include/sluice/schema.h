// The schema of a dataset's samples: their fields, with types, roles and classes.
//
// A new DType also goes into these files, where "\bk?int8\b" shows how:
//   format/schema.cpp                     its name
//   format/disk/record_layout.h
//   format/FORMAT.md
//   reader/batch/dlpack.cpp
//   reader/include/sluice/torch.h
//   reader/python/binding/binding.h
//   reader/python/binding/batch.cpp       Format(), item_bytes()
//   reader/python/binding/schema.cpp      the names in its help
//   tools/samples.h
//   tools/column.cpp                      its help
//   writer/edit/table_columns.cpp         its message
//   writer/source/records/beton.cpp       kNumpyKinds
//   tests/format/schema_json_test.cpp
//   tests/format/read_from_spec.py
//   not tests/                            other tests have fields of that type
//
// A new FieldKind goes into format/schema.cpp (its name, Validate()),
// format/disk/record_layout.cpp, block.cpp and json.cpp, FORMAT.md and
// tests/format/read_from_spec.py. The compiler names the switches; for the rest, look at each
// FieldKind:: in reader/, writer/ and tools/.
//
// A new Role also goes into these files, where "kKeypoints|boxes.{1,4}keypoints" shows how:
//   format/schema.cpp                     its name
//   format/FORMAT.md
//   tests/format/schema_json_test.cpp
//   tests/format/read_from_spec.py
//   reader/dataset/field_choice.cpp       this and all below only if it follows an image
//   format/boxes_and_points.cpp
//   reader/batch/batch_recipe.cpp
//   tools/preview_picture.cpp
//   tools/export_coco.cpp                 if COCO's form has it
//   not writer/source/labels/annotations.cpp  gives some fields these roles
//   not tests/                            other tests have fields of that role
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice {

// The smallest planned size of a shard file that a writer accepts, in bytes.
inline constexpr std::uint64_t kMinShardBytes = 1'000'000;
// The largest size of a shard file, in bytes.
inline constexpr std::uint64_t kMaxShardBytes = 128'000'000;
// The default planned size of a shard file, in bytes.
inline constexpr std::uint64_t kDefaultShardBytes = 64'000'000;

// Element type of arrays.
enum class DType : std::uint8_t {
  kInt8,     // std::int8_t
  kInt16,    // std::int16_t
  kInt32,    // std::int32_t
  kInt64,    // std::int64_t
  kUint8,    // std::uint8_t
  kUint16,   // std::uint16_t
  kFloat32,  // float
  kFloat64,  // double
  kFloat16,  // Float16
};

// A number of IEEE 754 binary16, the element of DType::kFloat16.
struct Float16 {
  std::uint16_t bits = 0;  // as they are stored

  Float16() = default;
  // The nearest float16, ties to even; infinite from 65520 on.
  explicit Float16(float number) noexcept;
  operator float() const noexcept;  // exact
};

std::size_t SizeOf(DType type) noexcept;       // bytes of one element
bool IsInteger(DType type) noexcept;           // whether the type is an integer type
std::string_view NameOf(DType type) noexcept;  // "int8" ... "float16"

// Returns the DType of a C++ type. Does not compile for a type without a DType.
template <class T>
constexpr DType DTypeOf() noexcept {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return DType::kInt8;
  } else if constexpr (std::is_same_v<T, std::int16_t>) {
    return DType::kInt16;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return DType::kInt32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return DType::kInt64;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return DType::kUint8;
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    return DType::kUint16;
  } else if constexpr (std::is_same_v<T, Float16>) {
    return DType::kFloat16;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::kFloat32;
  } else {
    static_assert(std::is_same_v<T, double>, "no DType for this element type");
    return DType::kFloat64;
  }
}

// How a field's values are stored.
enum class FieldKind : std::uint8_t {
  kImage,     // pixels, stored by one of the image codecs
  kBytes,     // an uninterpreted run of bytes (text, JSON, audio, ...)
  kArray,     // a fixed-shape array; a shape of {} is a scalar, such as a class label
  kVariable,  // an array whose first extent varies from sample to sample, such as boxes [n, 4]
};

std::string_view NameOf(FieldKind kind) noexcept;  // "image", "bytes", "array", "variable"

// The meaning of a field. It never changes how the field is stored.
enum class Role : std::uint8_t {
  kNone,       // none of the meanings below
  kImage,      // pictures
  kMask,       // an image of class numbers
  kLabel,      // class numbers
  kBoxes,      // boxes, in the convention that Field::coordinates names
  kKeypoints,  // points, in the convention that Field::coordinates names
  kText,       // UTF-8 text, in a bytes field
  kJson,       // JSON text, in a bytes field
  kInstances,  // the outlines or runs of each box's object, in a bytes field: see FORMAT.md
};

std::string_view NameOf(Role role) noexcept;  // "none", "image", "mask", ...

// A named, typed part of every sample. Field::Image() and the functions below it make common
// fields.
struct Field {
  std::string name;                    // 1..255 bytes of UTF-8, unique in the schema
  FieldKind kind = FieldKind::kBytes;  // how the field's values are stored
  DType dtype = DType::kUint8;         // kArray and kVariable only
  std::vector<std::uint32_t> shape;    // kArray: all extents; kVariable: all but the first
  Role role = Role::kNone;
  std::string follows;               // the image field that a mask, boxes or key points belong to
  std::string coordinates;           // convention of boxes or key points, such as "xyxy-pixels"
  std::vector<std::string> classes;  // kLabel and kMask: the class names, by number
  std::map<std::string, std::string> attributes;  // anything else worth keeping
  // Members of the field's JSON text that this version of Sluice does not know, as a JSON object;
  // empty if it knows all of them. Edits of a dataset keep them.
  std::string unknown;

  // The number of elements in one sample (kArray), or in one entry along the first extent
  // (kVariable).
  std::uint64_t elements() const noexcept;
  // Whether the field is an integer label (one number a sample) that has `classes`. Each value of
  // such a field must be the number of a class.
  bool numbers_classes() const noexcept;

  // An image field of role kImage.
  static Field Image(std::string name = "image");
  // An image field of role kMask, for the image field `follows`.
  static Field Mask(std::string name, std::string follows);
  // A label of one int32: the number of a class.
  static Field Label(std::string name = "label", std::vector<std::string> classes = {});
  // An array of the same shape in each sample; a shape of {} is one number.
  static Field Array(std::string name, DType dtype, std::vector<std::uint32_t> shape);
  // An array with any number of entries in each sample; each entry has the shape `inner_shape`.
  static Field Variable(std::string name, DType dtype, std::vector<std::uint32_t> inner_shape);
  // Any number of bytes in each sample.
  static Field Bytes(std::string name, Role role = Role::kNone);

  // Compares all members except `unknown`.
  friend bool operator==(const Field& a, const Field& b) noexcept;
};

// The fields that every sample of a dataset has, in addition to its key. A schema is chosen once,
// when a dataset is written, and is stored in the manifest and in the header of every shard. See
// format/FORMAT.md, "Schema", for its text form and its limits.
struct Schema {
  std::vector<Field> fields;  // in their order on disk
  std::string unknown = {};   // as Field::unknown, of the schema's own JSON text

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);  // no such field
  // Index of the field with that name, or kNone.
  std::size_t Find(std::string_view name) const noexcept;
  // Index of the first field with that role, or kNone.
  std::size_t FindRole(Role role) const noexcept;
  // Index of the first field for which numbers_classes() is true, or kNone. A dataset counts the
  // samples of this field's classes (Dataset::class_counts()).
  std::size_t ClassField() const noexcept;
  // Index of the label to use if the caller names none. This is ClassField(). If there is no such
  // field, it is the first field that is one integer and has the role kLabel; otherwise kNone.
  std::size_t LabelField() const noexcept;
  // Throws Error(kInvalidArgument or kLimit) if one of these is true:
  //
  //   the schema has no field, or two fields have the same name;
  //   a field's kind does not fit its role or its shape;
  //   a field follows a field that is not an image, or that itself follows one;
  //   a limit of FORMAT.md is exceeded.
  //
  // `one_record`: whether all fields lie in one record, whose size has a limit. Give false for the
  // fields of a dataset together with those of its columns, which lie in several records.
  void Validate(bool one_record = true) const;

  // Compares the fields.
  friend bool operator==(const Schema& a, const Schema& b) noexcept { return a.fields == b.fields; }
};

}  // namespace sluice
