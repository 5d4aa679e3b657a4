// This process's memory, as the kernel reports it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "tests/sanitized.h"  // a sanitizer keeps freed memory, and its own memory is counted, too

namespace sluice::test {

// The sum in bytes of `name` in /proc/self/smaps, over the mappings whose line (such as "7f00-7f01
// r--s 0000 fd:00 123 /path") contains `of`. The kernel counts these pages one by one, while the
// sums in /proc/self/status lag on machines with many CPUs.
inline std::uint64_t SumOfMappings(const std::string& name, const std::string& of) {
  std::ifstream file("/proc/self/smaps");
  std::string line;
  std::uint64_t bytes = 0;
  bool ours = false;
  while (std::getline(file, line)) {
    if (line.find(' ') < line.find(':')) {
      ours = line.find(of) != std::string::npos;
    } else if (ours && line.starts_with(name + ":")) {
      bytes += std::stoull(line.substr(name.size() + 1)) * 1024;
    }
  }
  return bytes;
}

// Resident pages that do not belong to a file, in bytes. Returns 0 under sanitizers, which have
// many such pages themselves.
inline std::uint64_t AnonymousBytes() {
  return kSanitized ? 0 : SumOfMappings("Anonymous", "");
}

// Resident pages of mapped files whose path begins with `path`, in bytes.
inline std::uint64_t MappedBytes(const std::string& path) {
  return SumOfMappings("Rss", " " + path);
}

}  // namespace sluice::test
