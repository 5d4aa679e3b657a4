// A process may have less memory than its machine: memory control groups limit it, in one of two
// versions of Linux's interface, and at every level of the hierarchy. AvailableMemory() takes the
// least of all. It compares a limit with the group's anonymous memory only, because the kernel
// gives up the page cache when memory is short. A file that is missing means no limit.
//
// Buffers are mappings: zeroed, page-aligned, and in huge pages if the kernel gives them.
#include "reader/reading/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <new>
#include <string>

#include <sys/mman.h>

namespace sluice {

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Finds a word in a file with one word and number on each line. Returns the number after the word,
// or `missing` if the word is not there.
std::uint64_t NumberAfter(const std::string& path, const std::string& word, std::uint64_t missing) {
  std::ifstream file(path);
  std::string name;
  while (file >> name) {
    std::uint64_t number = 0;
    if (name == word && file >> number) return number;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return missing;
}

std::uint64_t LeftOnMachine() {
  const std::uint64_t kilobytes = NumberAfter("/proc/meminfo", "MemAvailable:", kNoLimit / 1024);
  return kilobytes * 1024;
}

// The memory that one control group leaves: its limit, minus the group's memory that the kernel
// cannot reclaim.
std::uint64_t LeftBy(const std::string& folder, const char* limit_file, const char* used_word) {
  std::ifstream file(folder + "/" + limit_file);
  std::uint64_t limit = 0;
  if (!(file >> limit)) return kNoLimit;  // "max", or no such file
  const std::uint64_t used = NumberAfter(folder + "/memory.stat", used_word, 0);
  return limit - std::min(limit, used);
}

// The process's path in a control group hierarchy: from the line "N:controllers:path" of
// /proc/self/cgroup.
std::string GroupPath(const std::string& controllers) {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controllers) return line.substr(second + 1);
  }
  return {};
}

// The smallest amount that any group leaves, from the process's own group up to the root.
std::uint64_t LeastLeft(const std::string& root, std::string path, const char* limit_file,
                        const char* used_word) {
  std::uint64_t least = kNoLimit;
  for (;;) {
    least = std::min(least, LeftBy(root + path, limit_file, used_word));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.erase(slash);
  }
}

}  // namespace

std::uint64_t AvailableMemory() {
  return std::min({LeftOnMachine(),
                   LeastLeft("/sys/fs/cgroup", GroupPath(""), "memory.max", "anon"),
                   LeastLeft("/sys/fs/cgroup/memory", GroupPath("memory"), "memory.limit_in_bytes",
                             "total_rss")});
}

HostBuffer::HostBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // If the kernel gives huge pages, the first epoch has 512 times fewer page faults.
  madvise(memory, bytes, MADV_HUGEPAGE);
  memory_.reset(static_cast<std::byte*>(memory),
                [bytes](std::byte* mapped) { munmap(mapped, bytes); });
}

}  // namespace sluice
