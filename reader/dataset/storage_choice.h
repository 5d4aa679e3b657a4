// One function for each question about LoaderOptions::storage and keep.
#pragma once

#include <optional>
#include <variant>

#include <sluice/loader_options.h>

namespace sluice {

inline bool ReadsDirectly(const LoaderOptions& options) noexcept {
  return std::holds_alternative<Direct>(options.storage);
}
inline bool LocksInMemory(const LoaderOptions& options) noexcept {
  return std::holds_alternative<Locked>(options.storage);
}
inline Behind BehindOf(const LoaderOptions& options) noexcept {
  const auto* const mapped = std::get_if<Mapped>(&options.storage);
  return mapped != nullptr ? mapped->behind : Behind::kKeep;
}
// Empty: the loader chooses.
inline std::optional<std::uint64_t> ReadAheadBytesOf(const LoaderOptions& options) noexcept {
  if (const auto* const mapped = std::get_if<Mapped>(&options.storage)) {
    return mapped->read_ahead_bytes;
  }
  if (const auto* const direct = std::get_if<Direct>(&options.storage)) {
    return direct->read_ahead_bytes;
  }
  return std::nullopt;
}

// Whether what is kept lies behind the user's function.
inline bool KeepsFunctionRows(const LoaderOptions& options) noexcept {
  return options.keep && options.keep->function_is_deterministic;
}

}  // namespace sluice
