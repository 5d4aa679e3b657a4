// Versions of the library and of what it writes.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr const char* kLibraryVersion = "0.2.0";  // of this library: see CHANGELOG.md
// The version of what the writer makes: part of a plan's digest, and recorded in manifests as
// "sluice-writer". It changes only when the writer makes different bytes from the same sources and
// options, so most new versions of the library leave it as it is.
inline constexpr std::uint32_t kWriterVersion = 3;
inline constexpr std::uint32_t kFormatVersion = 1;  // format/FORMAT.md
inline constexpr std::uint32_t kOrderVersion = 1;   // the order of an epoch, reader/order/
inline constexpr std::uint32_t kDrawsVersion = 1;   // transforms' random draws, reader/DRAWS.md

}  // namespace sluice
