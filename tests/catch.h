// Catch2, version 2 (Debian 12) or 3 (Ubuntu 24.04).
#pragma once

#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& text) {
  return Catch::Contains(text);
}
}  // namespace Catch::Matchers
#endif
