// Versions of the library and of what it writes.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr const char* kLibraryVersion = "0.1.0";
inline constexpr std::uint32_t kFormatVersion = 1;  // format/FORMAT.md
inline constexpr std::uint32_t kOrderVersion = 1;   // the order of an epoch, reader/order/

}  // namespace sluice
