// Versions of the library and of what it writes.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr const char* kLibraryVersion = "0.2.0";  // of this library: see CHANGELOG.md
// Recorded in plans and manifests, and part of a plan's digest: raised only if the writer makes
// other bytes of the same sources and options, whatever the library's version.
inline constexpr const char* kWriterVersion = "0.2.1";
inline constexpr std::uint32_t kFormatVersion = 1;  // format/FORMAT.md
inline constexpr std::uint32_t kOrderVersion = 1;   // the order of an epoch, reader/order/

}  // namespace sluice
