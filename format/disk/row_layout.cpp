#include "format/disk/row_layout.h"

namespace sluice {

RowLayout::RowLayout(const Schema& schema) {
  for (const Field& field : schema.fields) {
    std::uint64_t bytes = 0;
    switch (field.kind) {
      case FieldKind::kImage: bytes = sizeof(PayloadEntry) + sizeof(ImageEntryPart); break;
      case FieldKind::kBytes:
      case FieldKind::kVariable: bytes = sizeof(PayloadEntry); break;
      case FieldKind::kArray: bytes = field.elements() * SizeOf(field.dtype); break;
    }
    offsets_.push_back(row_bytes_);
    entry_bytes_.push_back(bytes);
    row_bytes_ += AlignUp(bytes, 8);
  }
}

RowLayout::RowLayout(const Schema& schema, const Schema& fields) : RowLayout(schema) {
  const RowLayout own = *this;
  offsets_.assign(fields.fields.size(), 0);
  entry_bytes_.assign(fields.fields.size(), 0);
  for (std::size_t f = 0; f < fields.fields.size(); ++f) {
    const std::size_t at = schema.Find(fields.fields[f].name);
    if (at == Schema::kNone) continue;
    offsets_[f] = own.offsets_[at];
    entry_bytes_[f] = own.entry_bytes_[at];
  }
}

std::int64_t ClassNumber(const Field& field, Bytes element) noexcept {
  switch (field.dtype) {
    case DType::kInt8: return LoadAt<std::int8_t>(element, 0);
    case DType::kInt16: return LoadAt<std::int16_t>(element, 0);
    case DType::kInt32: return LoadAt<std::int32_t>(element, 0);
    case DType::kInt64: return LoadAt<std::int64_t>(element, 0);
    case DType::kUint8: return LoadAt<std::uint8_t>(element, 0);
    case DType::kUint16: return LoadAt<std::uint16_t>(element, 0);
    case DType::kFloat32:
    case DType::kFloat64: break;  // not integers
  }
  return -1;
}

}  // namespace sluice
