#include "format/disk/record_layout.h"

namespace sluice {

RecordLayout::RecordLayout(const Schema& schema) {
  for (const Field& field : schema.fields) {
    std::uint64_t bytes = 0;
    switch (field.kind) {
      case FieldKind::kImage: bytes = sizeof(PayloadEntry) + sizeof(ImageEntryPart); break;
      case FieldKind::kBytes:
      case FieldKind::kVariable: bytes = sizeof(PayloadEntry); break;
      case FieldKind::kArray: bytes = field.elements() * SizeOf(field.dtype); break;
    }
    offsets_.push_back(record_bytes_);
    entry_bytes_.push_back(bytes);
    record_bytes_ += AlignUp(bytes, 8);
  }
}

RecordLayout::RecordLayout(const Schema& schema, const Schema& fields) : RecordLayout(schema) {
  const RecordLayout own = *this;
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
  return WithElementType(field.dtype, [element](auto zero) -> std::int64_t {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return LoadAt<T>(element, 0);
    return -1;
  });
}

}  // namespace sluice
