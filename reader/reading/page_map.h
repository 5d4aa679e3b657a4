// Which pages of this process are in its page tables, so that nothing is asked of the kernel for
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/disk/bytes.h"
#include "format/disk/file.h"

namespace sluice {

// For one thread.
class PageMap {
 public:
  // Older kernels tell page by page (false), newer ones by ranges.
  explicit PageMap(bool by_range = true);

  // Whether each page that these bytes lie in is mapped and there: touching them waits for nobody.
  // No where the kernel does not tell. A page may still go at any time.
  bool HasAll(Bytes bytes);

 private:
  // By one call, of addresses; nothing where the kernel has none such.
  std::optional<bool> Scan(std::uint64_t begin, std::uint64_t end) const;
  bool ReadEntries(std::uint64_t begin, std::uint64_t end);  // numbers of pages

  FileHandle file_;  // none: the kernel does not tell
  bool by_range_;
  std::vector<std::uint64_t> entries_;
};

}  // namespace sluice
