// Decoded pictures kept from one epoch to the next (LoaderOptions::keep), in memory or in a file on
// a local disk, up to a budget.
//
// Pictures are never evicted: an epoch visits every sample once, so replacing one picture by
// another gains nothing. Thread-safe without locks: a thread reserves room for a picture by an
// atomic addition, and others see the picture once its bytes are written.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include "format/disk/file.h"
#include "reader/order/shape.h"
#include "reader/reading/memory.h"

namespace sluice {

// The samples whose pictures need no reading any more, because a cache has them in a form nearer to
// the batch: decoded (DecodedPictureCache), or in memory that a device reads (DevicePictureCache).
// Block sources ask this before they read. Thread-safe.
class PictureCache {
 public:
  virtual ~PictureCache() = default;
  virtual bool Has(std::uint64_t sample) const noexcept = 0;
  // Whether the cache has the pictures of all samples of a block. `block`: its index in the
  // dataset.
  bool HasAll(const DatasetShape& shape, std::uint64_t block) const noexcept;
};

class DecodedPictureCache final : public PictureCache {
 public:
  // A cache for a dataset of `samples` samples. It keeps at most `budget` bytes of their pictures:
  // in memory if `folder` is empty, otherwise in an unnamed file in that folder, whose disk space
  // is allocated at once. Throws Error(kIo), and Error(kLimit) if there is not enough memory.
  DecodedPictureCache(std::uint64_t samples, std::uint64_t budget,
                      const std::filesystem::path& folder);

  bool Has(std::uint64_t sample) const noexcept override {
    return entries_[sample].place.load(std::memory_order_acquire) < kTaken;
  }
  // The picture's bytes, in the cache or read into `scratch`. Empty if the picture is not kept, or
  // if the file no longer returns the bytes that were written.
  Bytes Get(std::uint64_t sample, std::vector<std::byte>& scratch) const;
  // Keeps the picture, if the cache has room for it and does not have it yet.
  void Put(std::uint64_t sample, Bytes picture);
  bool full() const noexcept { return full_.load(std::memory_order_relaxed); }

  std::uint64_t kept() const noexcept { return kept_.load(std::memory_order_relaxed); }
  std::uint64_t kept_bytes() const noexcept { return kept_bytes_.load(std::memory_order_relaxed); }
  // Bytes of memory that a cache takes. Pictures in a file take none.
  static std::uint64_t MemoryBytes(std::uint64_t samples, std::uint64_t budget, bool in_file) {
    return samples * sizeof(Entry) + (in_file ? 0 : budget);
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::uint64_t kTaken = kNone - 1;  // a thread writes the picture
  struct Entry {
    std::atomic<std::uint64_t> place{kNone};  // offset in memory_ or in the file; or kTaken, kNone
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  // only for a file
  };

  std::uint64_t budget_;
  std::unique_ptr<Entry[]> entries_;
  HostBuffer memory_;
  FileHandle file_;
  std::atomic<std::uint64_t> used_{0};  // bytes reserved, also by pictures that did not fit
  std::atomic<std::uint64_t> kept_{0};
  std::atomic<std::uint64_t> kept_bytes_{0};
  std::atomic<bool> full_{false};
};

}  // namespace sluice
