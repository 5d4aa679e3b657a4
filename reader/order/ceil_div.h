#pragma once

#include <cstdint>

namespace sluice {

constexpr std::uint64_t CeilDiv(std::uint64_t a, std::uint64_t b) noexcept {
  return (a + b - 1) / b;
}

}  // namespace sluice
