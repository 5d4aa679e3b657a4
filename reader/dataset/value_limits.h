// What single values of a dataset may take when they are read: what its manifest says of them, and
// what ReadLimits allows. Held against what a shard says before memory is taken.
#pragma once

#include <cstdint>
#include <vector>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "format/disk/manifest.h"

namespace sluice {

// Why a value is not read: a sentence, or null for none.
struct OverLimit {
  const char* what = nullptr;
  ErrorCode code = ErrorCode::kCorrupt;  // kLimit where ReadLimits refuses it
  explicit operator bool() const noexcept { return what != nullptr; }
};

class ValueLimits {
 public:
  ValueLimits(const Manifest& manifest, const ReadLimits& limits);

  // The most bytes of a value of that bytes or variable-length field, decompressed.
  std::uint64_t bytes(std::size_t field) const noexcept;
  // The most pixels of an image of that field.
  std::uint64_t pixels(std::size_t field) const noexcept;

  OverLimit CheckBytes(std::size_t field, std::uint64_t bytes) const noexcept;
  // Whether the entry is what the manifest says; nothing of ReadLimits.
  OverLimit CheckEntry(std::size_t field, const ImagePayload& image) const noexcept;
  // The same of an image that is to be decoded, and not too large.
  OverLimit CheckImage(std::size_t field, const ImagePayload& image) const noexcept;

 private:
  ReadLimits limits_;
  bool values_known_;
  std::vector<ManifestImages> images_;  // by field
  std::vector<ManifestValues> values_;
};

}  // namespace sluice
