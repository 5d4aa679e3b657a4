// What the kernel says of this process's memory.
#pragma once

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "tests/sanitized.h"  // whose memory is counted along, and which keeps what was freed

namespace sluice::test {

// Resident pages that are no file's, in bytes.
inline std::uint64_t AnonymousBytes() {
  std::ifstream file("/proc/self/status");
  std::string name;
  std::uint64_t kilobytes = 0;
  while (file >> name) {
    if (name == "RssAnon:" && file >> kilobytes) return kilobytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

// Resident pages of mapped files whose path begins so, in bytes.
inline std::uint64_t MappedBytes(const std::string& path) {
  std::ifstream file("/proc/self/smaps");
  std::string line;
  std::uint64_t bytes = 0;
  bool ours = false;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    const std::size_t space = line.find(' ');
    if (space < colon) {  // "7f00-7f01 r--s 0000 fd:00 123   /path"
      ours = line.find(" " + path) != std::string::npos;
    } else if (ours && line.compare(0, 4, "Rss:") == 0) {
      bytes += std::stoull(line.substr(4)) * 1024;
    }
  }
  return bytes;
}

}  // namespace sluice::test
