// How deeply a JSON text nests, looked at before it is parsed: the parser's own functions recurse,
// and a hostile manifest must not be able to use up the stack.
#pragma once

#include <string_view>

namespace sluice {

// Whether objects and arrays stand inside each other more than `limit` deep. The text need not be
// valid.
bool NestsDeeperThan(std::string_view json, unsigned limit) noexcept;

}  // namespace sluice
