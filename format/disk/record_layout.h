// Where each field's entry lies in a record of a block's table (format/FORMAT.md, "Records"), and
// the class that a label's entry names.
#pragma once

#include <cstdint>

#include <sluice/image.h>
#include <sluice/schema.h>

#include "format/disk/bytes.h"

namespace sluice {

// The entry of a bytes, variable or image field. Image entries are followed by ImageEntryPart.
struct PayloadEntry {
  std::uint64_t offset = 0;    // from the block's start
  std::uint64_t checksum = 0;  // XXH3-64 of the payload
  std::uint32_t size = 0;      // bytes
  std::uint16_t codec = 0;     // enum Codec
  std::uint16_t flags = 0;     // zero
};
static_assert(sizeof(PayloadEntry) == 24);

struct ImageEntryPart {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint8_t channels = 0;
  std::uint8_t pixel_type = 0;  // enum PixelType
  std::uint8_t zero[6] = {};
};
static_assert(sizeof(ImageEntryPart) == 16);

class RecordLayout {
 public:
  explicit RecordLayout(const Schema& schema);
  // The layout of records of `schema`, indexed by the fields of another schema. Fields of the same
  // name must be stored alike; a field that `schema` lacks has no entry.
  RecordLayout(const Schema& schema, const Schema& fields);

  // Removes the field's entry: the field lies elsewhere.
  void Drop(std::size_t field) noexcept { offsets_[field] = entry_bytes_[field] = 0; }

  std::uint64_t record_bytes() const noexcept { return record_bytes_; }
  std::size_t fields() const noexcept { return offsets_.size(); }
  bool has(std::size_t field) const noexcept { return entry_bytes_[field] != 0; }
  std::uint64_t offset(std::size_t field) const noexcept { return offsets_[field]; }
  // Bytes of the entry, without the padding after it.
  std::uint64_t entry_bytes(std::size_t field) const noexcept { return entry_bytes_[field]; }

  friend bool operator==(const RecordLayout&, const RecordLayout&) = default;

 private:
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint64_t> entry_bytes_;
  std::uint64_t record_bytes_ = 0;
};

// Calls `take` with a zero of the C++ type that `type` stands for.
template <class Take>
decltype(auto) WithElementType(DType type, Take&& take) {
  switch (type) {
    case DType::kInt8: return take(std::int8_t{});
    case DType::kInt16: return take(std::int16_t{});
    case DType::kInt32: return take(std::int32_t{});
    case DType::kInt64: return take(std::int64_t{});
    case DType::kUint8: return take(std::uint8_t{});
    case DType::kUint16: return take(std::uint16_t{});
    case DType::kFloat32: return take(float{});
    case DType::kFloat16: return take(Float16());
    case DType::kFloat64: break;
  }
  return take(double{});
}

// The number in an element of an integer field; there may be no class of that number.
std::int64_t ClassNumber(const Field& field, Bytes element) noexcept;

// Whether the field has a class of that number.
inline bool IsClass(const Field& field, std::int64_t number) noexcept {
  return number >= 0 && static_cast<std::uint64_t>(number) < field.classes.size();
}

}  // namespace sluice
