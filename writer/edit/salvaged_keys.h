// The keys of a damaged shard, as far as they can be read, and the list of samples it lost.
#pragma once

#include <string>
#include <vector>

#include <sluice/dataset_edit.h>

#include "format/disk/keys.h"

namespace sluice {

class SalvagedKeys {
 public:
  // `section` may be damaged or empty; it must outlive the object.
  SalvagedKeys(Bytes section, std::uint64_t samples) noexcept;

  // Empty if it cannot be read. Valid until the next call.
  std::string_view Of(std::uint64_t sample);
  // After `sample`, whose key cannot be read: the next sample that may have a readable one.
  std::uint64_t NextAfter(std::uint64_t sample) const noexcept;

 private:
  Bytes section_;
  std::uint64_t samples_;
  std::uint64_t chunk_samples_ = 0;  // 0: there is no section
  KeyChunk chunk_;
  std::uint64_t unreadable_until_ = 0;
};

// Adds a shard's lost samples, in order, to a list. Samples are listed one by one as long as that
// takes no more memory than the shard itself; the others, and those without a key, become one entry
// for each run.
class LossList {
 public:
  LossList(std::string shard, std::uint64_t file_bytes, SalvagedKeys& keys,
           std::vector<LostSample>& lost) noexcept
      : shard_(std::move(shard)), room_(file_bytes), keys_(keys), lost_(lost) {}

  // Samples `first` to `end` - 1.
  void Add(std::uint64_t first, std::uint64_t end, const char* why);

 private:
  void AddRun(std::uint64_t first, std::uint64_t end, const char* why);

  std::string shard_;
  std::uint64_t room_;  // bytes
  SalvagedKeys& keys_;
  std::vector<LostSample>& lost_;
  std::uint64_t run_end_ = 0;  // of the last entry, if that is a run of this shard's
};

}  // namespace sluice
