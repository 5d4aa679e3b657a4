// A change of a forged dataset, and the disagreements left after it: see forged_dataset.h.
#pragma once

#include "format/disk/bytes.h"

namespace sluice::fuzz {

// Parts that are left in disagreement after the changes.
enum Disagreement : std::uint8_t {
  kShardLines = 1,     // the manifest's lines of the shards: counts and ids (sizes and digests are)
  kTotals = 2,         // the manifest's sums over images and values
  kCounts = 4,         // the directory's counts and sizes with the blocks' headers
  kIds = 8,            // the shard's id in its other structures
  kSums = 16,          // the manifest's numbers of samples and blocks, among each other
  kShardSchemas = 32,  // the shards' schemas with the manifest's
  kNoValues = 64,      // a manifest without `values`
  kUnsealed = 128,     // checksums
};

enum Place : std::uint8_t {
  // A sample before it is stored; `which` 255: every sample.
  kElements,   // a word of a value
  kPayload,    // a payload, by its own structure
  kZeros,      // a payload becomes a zstd frame of zeros
  kZeroImage,  // the same, and the image as large
  kEntry,      // codec, sizes, pixel type
  kKey,
  // A word of a shard's structures.
  kHeader,
  kBlock,
  kTable,
  kSection,
  kDirectory,
  kTail,
  // Files.
  kSize,
  kMissing,  // `which` 255: the manifest
  kExchanged,
  // Texts.
  kSchema,
  kManifest,
  kShardLine,  // the manifest's, of a shard
  kPlaces,
};

struct Change {
  std::uint8_t place, which, value, size;
  std::uint16_t at, field;
  std::uint32_t number;
};
static_assert(sizeof(Change) == 12);

// A number to replace `old`: near to it, a special value, or the change's own.
std::uint64_t NumberFor(const Change& change, std::uint64_t old);

// Writes such a number into one of the words.
void ChangeWord(std::span<std::byte> bytes, const Change& change);

}  // namespace sluice::fuzz
