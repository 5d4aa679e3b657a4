// A sample's numbers of whatever type, in one type.
#pragma once

#include <vector>

#include <sluice/dataset.h>

namespace sluice {

// Calls take(values) with the elements of an array or variable field, as a span of their own type.
template <class Take>
void WithElements(const Sample& sample, const Field& field, Take&& take) {
  switch (field.dtype) {
    case DType::kInt8: return take(sample.Array<std::int8_t>(field.name));
    case DType::kInt16: return take(sample.Array<std::int16_t>(field.name));
    case DType::kInt32: return take(sample.Array<std::int32_t>(field.name));
    case DType::kInt64: return take(sample.Array<std::int64_t>(field.name));
    case DType::kUint8: return take(sample.Array<std::uint8_t>(field.name));
    case DType::kUint16: return take(sample.Array<std::uint16_t>(field.name));
    case DType::kFloat32: return take(sample.Array<float>(field.name));
    case DType::kFloat64: return take(sample.Array<double>(field.name));
  }
}

inline std::vector<double> NumbersOf(const Sample& sample, const Field& field) {
  std::vector<double> numbers;
  WithElements(sample, field, [&](auto values) { numbers.assign(values.begin(), values.end()); });
  return numbers;
}

// Empty for a field of other numbers.
inline std::vector<std::int64_t> IntegersOf(const Sample& sample, const Field& field) {
  std::vector<std::int64_t> numbers;
  if (!IsInteger(field.dtype)) return numbers;
  WithElements(sample, field, [&](auto values) {
    for (const auto value : values)
      numbers.push_back(static_cast<std::int64_t>(value));
  });
  return numbers;
}

}  // namespace sluice
