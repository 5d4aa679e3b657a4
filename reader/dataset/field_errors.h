// Errors for callers who ask a batch or a sample for a field of another name, kind or type.
#pragma once

#include <string>
#include <string_view>

#include <sluice/error.h>
#include <sluice/schema.h>

namespace sluice {

[[noreturn]] inline void RefuseField(std::string_view name, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "field \"" + std::string(name) + "\" " + what);
}

inline void RequireType(std::string_view name, DType held, DType asked) {
  if (held == asked) return;
  RefuseField(name, "holds " + std::string(NameOf(held)) + ", not " + std::string(NameOf(asked)));
}

}  // namespace sluice
