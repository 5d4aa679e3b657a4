// Environment variables with settings of stores: the process's own, or a test's.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>

namespace sluice {

// The value of a variable; empty if it is not set.
using Environment = std::function<std::string(const char* name)>;

inline std::string ProcessEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Whether the value is true, in the spellings of AWS's variables.
inline bool SaysYes(const std::string& value) {
  return value == "true" || value == "True" || value == "TRUE" || value == "1";
}

}  // namespace sluice
