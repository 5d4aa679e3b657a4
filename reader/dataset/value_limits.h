// Limits on single values of a dataset: the manifest's and those of ReadLimits. Sizes that a shard
// gives are checked against them before memory is allocated.
#pragma once

#include <cstdint>
#include <vector>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "format/disk/manifest.h"

namespace sluice {

// Why a value cannot be read: a sentence, which is null if nothing is wrong.
struct ValueFault {
  const char* what = nullptr;
  ErrorCode code = ErrorCode::kCorrupt;  // kLimit if ReadLimits refuses it
  explicit operator bool() const noexcept { return what != nullptr; }
};

class ValueLimits {
 public:
  ValueLimits(const Manifest& manifest, const ReadLimits& limits);

  const ReadLimits& read_limits() const noexcept { return limits_; }
  // The most bytes of a value of that bytes or variable-length field, decompressed.
  std::uint64_t bytes(std::size_t field) const noexcept;
  // The most pixels of an image of that field.
  std::uint64_t pixels(std::size_t field) const noexcept;

  ValueFault CheckBytes(std::size_t field, std::uint64_t bytes) const noexcept;
  // Checks the entry against the manifest only, not ReadLimits.
  ValueFault CheckEntry(std::size_t field, const ImagePayload& image) const noexcept;
  // CheckEntry(), and ReadLimits: for an image to be decoded.
  ValueFault CheckImage(std::size_t field, const ImagePayload& image) const noexcept;

 private:
  ReadLimits limits_;
  bool values_known_;
  std::vector<ManifestImages> images_;  // by field
  std::vector<ManifestValues> values_;
};

}  // namespace sluice
