// The class that a label names.
#pragma once

#include <cstdint>

#include <sluice/schema.h>

#include "format/disk/bytes.h"

namespace sluice {

// The number in an element of an integer field; there may be no class of that number.
std::int64_t ClassNumber(const Field& field, Bytes element) noexcept;

// Whether the field has a class of that number.
inline bool IsClass(const Field& field, std::int64_t number) noexcept {
  return number >= 0 && static_cast<std::uint64_t>(number) < field.classes.size();
}

}  // namespace sluice
