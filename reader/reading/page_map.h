// The pages of shards that are in memory: finding them, and locking all of a dataset's pages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

// Finds the pages that are in this process's page tables; the kernel need not be asked to read
// them. Used by one thread.
class PageMap {
 public:
  // `by_range`: ask for whole ranges, which newer kernels support; false: page by page.
  explicit PageMap(bool by_range = true);

  // Whether all pages of these bytes are in memory and mapped, so that touching them does not wait.
  // False if the kernel does not say. A page may still be evicted at any time.
  bool HasAll(Bytes bytes);

 private:
  // Examines a range of addresses by one call; empty if the kernel lacks that call.
  std::optional<bool> Scan(std::uint64_t begin, std::uint64_t end) const;
  bool ReadEntries(std::uint64_t begin, std::uint64_t end);  // `begin` and `end` are page numbers

  FileHandle file_;  // empty: the kernel gives no page map
  bool by_range_;
  std::vector<std::uint64_t> entries_;
};

// For LoaderOptions::storage = Locked. Maps and reads every shard, and locks its pages in memory
// until the last handle to the dataset is gone. Throws Error(kLimit) if the dataset does not fit
// into memory, if Sluice cannot keep all shards mapped (both before it reads anything), or if this
// process may not lock so much memory. If a shard cannot be read, throws Error(kIo) or, with
// `pass_over`, skips the shard: each of its samples will fail later.
void LockInMemory(DatasetState& dataset, bool pass_over);

}  // namespace sluice
