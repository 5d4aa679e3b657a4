// Whole datasets of any content, usually with right checksums and digests, to test the checks that
// come after these. An input consists of:
// - a form (kForms);
// - bits of Disagreement;
// - a number by which the code that uses the dataset chooses options;
// - changes: to a sample before it is stored, a structure in a shard, the JSON of the schema or the
// manifest, or files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "format/disk/block.h"
#include "format/disk/bytes.h"
#include "format/disk/manifest.h"
#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// What the changes may leave in disagreement with what. Without the bit, it is corrected after the
// changes.
enum Disagreement : std::uint8_t {
  kShardLines = 1,     // the manifest's counts and ids of shards, with the shards
  kTotals = 2,         // the manifest's sums over images and values, with the samples
  kCounts = 4,         // the directory's counts and sizes, with the blocks' headers
  kIds = 8,            // the ids in the shard's other structures, with the id in its header
  kSums = 16,          // the manifest's numbers of samples and blocks, with each other
  kShardSchemas = 32,  // the shards' schemas, with the manifest's
  kNoValues = 64,      // no disagreement: the manifest lacks its `values`, as older ones do
  kUnsealed = 128,     // the shards' checksums, with the bytes
};

enum Place : std::uint8_t {
  // A sample before it is stored; `which` 255: every sample.
  kElements,   // a word of a value
  kPayload,    // a payload; a JPEG by its structure
  kZeros,      // a payload becomes a zstd frame of zeros
  kZeroImage,  // the same, and the image's size is set to match
  kEntry,      // codec, size, channels or pixel type
  kKey,
  // A word of a shard's structures.
  kHeader,
  kBlock,
  kTable,
  kSection,
  kDirectory,
  kTail,
  // A file.
  kSize,       // a shard's file is cut off or extended
  kMissing,    // a shard's file is missing; `which` 255: the manifest
  kExchanged,  // the two shards' files have each other's names
  // A value or a member of JSON.
  kSchema,
  kManifest,
  kShardLine,  // of the manifest's list of shards
  // The number of places.
  kPlaces,
};

// A change at a Place. Each place uses the other members in its own way.
struct Change {
  std::uint8_t place, which, value, size;
  std::uint16_t at, field;
  std::uint32_t number;
};
static_assert(sizeof(Change) == 12);

// Returns a number to replace `old`: one made from it, a special value, or the change's own number.
std::uint64_t NumberFor(const Change& change, std::uint64_t old);

// Replaces one word of `bytes` by NumberFor(change, word).
void ChangeWord(std::span<std::byte> bytes, const Change& change);

// Functions that change a shard's bytes, and correct what depends on the changed bytes.

// The bytes of the structure that a change (kHeader to kTail) applies to. `sound` is the shard
// before all changes, by which the structure is located.
std::span<std::byte> PartOf(Bytes sound, std::span<std::byte> file, const Change& change);

// Puts another schema into the header, if it fits.
void SetSchema(std::span<std::byte> file, const std::string& text);

// Makes the ids and counts of a shard's structures agree after one of them was changed. `left`:
// bits of Disagreement to leave.
void MakeAgree(Bytes sound, std::span<std::byte> file, std::uint8_t left);

// Updates the manifest's entry for a shard from the shard's current file.
void FollowShard(Bytes file, ManifestShard& line, std::uint8_t left);

// Forms of datasets. 0: JPEGs, and no other field except the label. The others have all fields, and
// differ in their pictures: 1 JPEG, 2 packed, 3 raw, 4 raw of 16 bits, 5 zstd.
inline constexpr std::uint8_t kForms = 6;

Schema SchemaOf(std::uint8_t form);
std::vector<EncodedSample> SamplesOf(std::uint8_t form);

// Makes a change whose place is one of kElements to kKey. `other`: a sample to copy from.
void ChangeSample(EncodedSample& sample, const EncodedSample& other, const Change& change);

// Writes the dataset into `folder`, which must be empty. Returns the number in the input by which
// the code that uses the dataset chooses options.
std::uint16_t ForgeDataset(Bytes input, const std::filesystem::path& folder);

// Writes the form's dataset without changes.
void WriteSoundDataset(std::uint8_t form, const std::filesystem::path& folder);

// Inputs: each form without changes, one for each kind of change, and some with large values that
// the manifest does not mention.
std::vector<Input> ForgedSeeds();

// Adds a change, removes one, changes a byte of one, or changes the bytes before the changes.
void MutateForgery(Input& input, const Input& other, RandomStream& random);

}  // namespace sluice::fuzz
