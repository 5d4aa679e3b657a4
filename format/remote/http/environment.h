// The environment variables that settings of stores are read from: the process's own, or a test's.
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

// "true", as the variables of AWS spell it.
inline bool SaysYes(const std::string& value) {
  return value == "true" || value == "True" || value == "TRUE" || value == "1";
}

}  // namespace sluice
