#include "format/disk/class_number.h"

namespace sluice {

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
