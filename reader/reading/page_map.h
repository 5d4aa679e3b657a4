// Finds the pages that are in this process's page tables, so that the kernel need not be asked to
// read them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/disk/bytes.h"
#include "format/disk/file.h"

namespace sluice {

// Used by one thread.
class PageMap {
 public:
  // `by_range`: ask for ranges, which newer kernels can do; false: page by page.
  explicit PageMap(bool by_range = true);

  // Whether all pages of these bytes are in memory and mapped, so that touching them does not wait.
  // False if the kernel does not tell. A page may still go at any time.
  bool HasAll(Bytes bytes);

 private:
  // By one call for a range of addresses; empty if the kernel does not have that call.
  std::optional<bool> Scan(std::uint64_t begin, std::uint64_t end) const;
  bool ReadEntries(std::uint64_t begin, std::uint64_t end);  // page numbers

  FileHandle file_;  // none: the kernel does not tell
  bool by_range_;
  std::vector<std::uint64_t> entries_;
};

}  // namespace sluice
