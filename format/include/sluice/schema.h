// The schema of a dataset's samples: their fields, with types, roles and classes.
//
// A new DType also goes into these files, where "\bk?int16\b" shows how:
//   format/schema.cpp                     its name
//   format/disk/record_layout.h
//   format/FORMAT.md
//   reader/batch/dlpack.cpp
//   reader/include/sluice/torch.h
//   reader/python/binding/binding.h
//   reader/python/binding/batch.cpp       Format(), item_bytes()
//   tools/samples.h
//   writer/source/records/beton.cpp       kNumpyKinds
//   tests/format/schema_json_test.cpp
//   tests/format/read_from_spec.py
//   not tests/                            others have fields of that type
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
//   format/drawn_fields.cpp
//   reader/batch/batch_recipe.cpp
//   tools/preview_picture.cpp
//   not writer/source/labels/annotations.cpp  gives some fields these roles
//   not tests/                            others have fields of that role
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice {

// The smallest size, in bytes, that a writer may plan for a shard file.
inline constexpr std::uint64_t kMinShardBytes = 1'000'000;
// The largest size, in bytes, that a shard file may have.
inline constexpr std::uint64_t kMaxShardBytes = 128'000'000;
// The planned size of shards unless another is asked for.
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
};

std::size_t SizeOf(DType type) noexcept;       // bytes of one element
bool IsInteger(DType type) noexcept;           // whether it is one of the integer types
std::string_view NameOf(DType type) noexcept;  // "int8" ... "float64"

// The DType of a C++ type. A type that has none does not compile.
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
};

std::string_view NameOf(Role role) noexcept;  // "none", "image", "mask", ...

// A named, typed part of every sample. Field::Image() and the others below make the usual ones.
struct Field {
  std::string name;                    // 1..255 bytes of UTF-8, unique in the schema
  FieldKind kind = FieldKind::kBytes;  // how its values are stored
  DType dtype = DType::kUint8;         // kArray and kVariable only
  std::vector<std::uint32_t> shape;    // kArray: the extents; kVariable: those after the first
  Role role = Role::kNone;
  std::string follows;               // the image field that a mask, boxes or key points belong to
  std::string coordinates;           // convention of boxes or key points, such as "xyxy-pixels"
  std::vector<std::string> classes;  // kLabel and kMask: the class names, by number
  std::map<std::string, std::string> attributes;  // anything else worth keeping
  // Members of the field's JSON text that this version does not know, as a JSON object; mostly
  // empty. Edits of datasets keep them.
  std::string unknown;

  // Elements of one sample (kArray) or of one entry along the first extent (kVariable).
  std::uint64_t elements() const noexcept;
  // Whether this is a label of one integer and has `classes`: then each value must be the number of
  // a class.
  bool numbers_classes() const noexcept;

  // An image field of role kImage.
  static Field Image(std::string name = "image");
  // An image field of role kMask, for the image field `follows`.
  static Field Mask(std::string name, std::string follows);
  // One int32, the number of a class.
  static Field Label(std::string name = "label", std::vector<std::string> classes = {});
  // An array of the same shape in each sample; a shape of {} is one number.
  static Field Array(std::string name, DType dtype, std::vector<std::uint32_t> shape);
  // Any number of entries in each sample, each of the shape `inner_shape`.
  static Field Variable(std::string name, DType dtype, std::vector<std::uint32_t> inner_shape);
  // Any number of bytes in each sample.
  static Field Bytes(std::string name, Role role = Role::kNone);

  // Compares all members but `unknown`.
  friend bool operator==(const Field& a, const Field& b) noexcept;
};

// The fields of a dataset's samples. (Each sample also has a key.) A schema is chosen once, when a
// dataset is written, and is stored in the manifest and in the header of every shard. See
// format/FORMAT.md, "Schema", for its text form and its limits.
struct Schema {
  std::vector<Field> fields;  // in their order on disk
  std::string unknown = {};   // like Field::unknown, for the schema's own JSON text

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);  // no such field
  // Index of the field of that name, or kNone.
  std::size_t Find(std::string_view name) const noexcept;
  // Index of the first field of that role, or kNone.
  std::size_t FindRole(Role role) const noexcept;
  // Index of the field whose classes a dataset counts (Dataset::class_counts()): the first that
  // numbers_classes(), or kNone.
  std::size_t ClassField() const noexcept;
  // Index of the label to use if none is named: ClassField(), else the first integer scalar of role
  // label, or kNone.
  std::size_t LabelField() const noexcept;
  // Throws Error(kInvalidArgument or kLimit) if names repeat, a field's kind does not fit its role
  // or shape, a field follows one that it cannot follow, or a limit of FORMAT.md is exceeded.
  void Validate() const;

  // Compares the fields.
  friend bool operator==(const Schema& a, const Schema& b) noexcept { return a.fields == b.fields; }
};

}  // namespace sluice
