// How deeply a JSON text nests, checked before parsing: the parser recurses, and a hostile manifest
// must not exhaust the stack.
#pragma once

#include <string_view>

namespace sluice {

// Whether objects and arrays nest more than `limit` deep. The text need not be valid.
bool NestsDeeperThan(std::string_view json, unsigned limit) noexcept;

}  // namespace sluice
