// Versions of the library and of what it writes.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr const char* kLibraryVersion = "0.2.0";  // of this library: see CHANGELOG.md
// Part of a plan's digest, and recorded in manifests as "sluice-writer". It is raised only when the
// writer makes different bytes from the same sources and options, not with the library's version.
inline constexpr std::uint32_t kWriterVersion = 3;
inline constexpr std::uint32_t kFormatVersion = 1;  // format/FORMAT.md
inline constexpr std::uint32_t kOrderVersion = 1;   // the order of an epoch, reader/order/
inline constexpr std::uint32_t kDrawsVersion = 1;   // transforms' random draws, reader/DRAWS.md

}  // namespace sluice
