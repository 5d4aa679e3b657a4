// Writes shards, and sums them up for a manifest. DatasetWriter, conversions and edits build on
// this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include <sluice/schema.h>

#include "format/disk/file.h"
#include "format/disk/keys.h"
#include "format/disk/manifest.h"
#include "format/disk/record_layout.h"
#include "format/disk/shard.h"

namespace sluice {

// The part of a manifest that describes a shard: its entry, and its share of the totals.
struct FinishedShard : SampleTotals {
  ManifestShard shard;
};

// Gathers a FinishedShard from a shard on disk, and verifies the shard's tables on the way. Throws
// Error.
FinishedShard SurveyShard(const ShardFile& shard, const std::string& file_name);

// A name for a dataset: "images of cat, dog and 8 more classes with bbox and caption". It says what
// samples hold but not how many there are, so that it stays true for a subset and after an append.
// It does not depend on where sources and dataset lie.
std::string DescribedName(const Schema& schema);

// A manifest with a schema and without shards.
Manifest BeginManifest(const std::string& name, const Schema& schema);

// The libraries that made a dataset, for its manifest: Sluice, its writer, and `others`.
nlohmann::json LibrariesOf(nlohmann::json others);

// Adds a shard's entry and totals to a manifest that BeginManifest() began. If the shard's class
// counts are empty, the caller adds them.
void AddShard(const FinishedShard& finished, Manifest& manifest);

// Writes the folder's manifest whole or not at all. With it, the folder is a dataset.
void WriteManifest(const Manifest& manifest, const std::filesystem::path& folder);

// "shard-00012.sluice", further parts of a planned shard "shard-00012.1.sluice".
std::string ShardFileName(std::uint32_t number, std::uint32_t part = 0);

// XXH3-128 of the identity (a plan's digest, a dataset's name), the shard's number and its part.
Id128 ShardId(Bytes identity, std::uint32_t number, std::uint32_t part = 0);

// Throws Error(kLimit) for a sample that no shard can hold, because its key, a payload or the whole
// sample is too large. The Error does not name the sample; the caller adds that. `header_bytes`: of
// the shards' header; `reserve_bytes`: as in NewShard.
void CheckLimits(const EncodedSample& sample, const Schema& schema, const RecordLayout& layout,
                 std::uint64_t header_bytes, std::uint64_t reserve_bytes = 0);

// Throws Error(kInvalidArgument) for a field of boxes, key points or instances that a loader could
// not move with its image.
void CheckDrawnFields(const Schema& schema);

// The warning for a user if a DirectBuffer was refused.
std::string DirectRefusal(const std::filesystem::path& folder);

// A shard file to be written.
struct NewShard {
  std::string name;  // of the file
  Id128 id;
  std::uint32_t block_samples = 0;
  std::uint64_t reserve_bytes = 0;  // that Fits() keeps free for the origin given to Finish()
  DirectBuffer* direct = nullptr;   // this and `own`: as for AtomicFile
  std::string own = {};
};

// Writes one shard file.
//
// Samples are gathered into blocks, which go to the file as soon as they are full; the file appears
// under its name, whole and synced, in Finish(). A writer that is destroyed before Finish() leaves
// no file. One thread at a time. Memory: one block.
class ShardWriter {
 public:
  // `schema` must be valid and outlive the writer.
  ShardWriter(const Schema& schema, const std::filesystem::path& folder, const NewShard& shard);
  ~ShardWriter();

  // Whether the finished file would have at most `limit` bytes if this sample were its last. The
  // answer depends on this shard's samples alone.
  bool Fits(const EncodedSample& sample, std::uint64_t limit) const;

  // The sample must have passed CheckLimits() and, unless it is the shard's first, Fits() within
  // kMaxShardBytes.
  void Add(EncodedSample sample);

  // Adds samples with empty keys, for a schema of one array field: `values` has the elements of one
  // sample after another. As many as fill the file to about `limit` bytes, and at least one block.
  // Returns how many it has added.
  std::uint64_t AddArrays(Bytes values, std::uint64_t limit);

  std::uint64_t samples() const noexcept { return samples_; }
  // Bytes of the file so far.
  std::uint64_t bytes() const noexcept { return file_->size(); }

  // Writes what is left and gives the file its name; at least one sample must have been added.
  // `origin`, a JSON text, becomes the section of that name, unless it is empty. No call may
  // follow.
  FinishedShard Finish(std::string_view origin = {}, FolderSync folder = FolderSync::kNow);

 private:
  void WriteBlock();
  void WriteBlock(const std::vector<std::byte>& block, std::size_t samples);
  void Count(const EncodedSample& sample);
  void WriteSection(std::uint32_t number, Bytes content);

  const Schema& schema_;
  RecordLayout layout_;
  std::vector<std::size_t> column_fields_;
  std::size_t class_field_;
  std::uint64_t reserve_bytes_;

  FinishedShard finished_;
  ShardHeader header_;
  std::unique_ptr<AtomicFile> file_;
  std::uint64_t samples_ = 0;
  std::vector<EncodedSample> block_;       // the samples of the current block
  std::uint64_t block_content_bytes_ = 0;  // by BlockBytesOf()
  std::vector<BlockEntry> blocks_;
  std::vector<SectionEntry> sections_;
  std::vector<std::vector<std::byte>> columns_;
  KeysBuilder keys_;
};

inline constexpr std::uint64_t kPlannedBlockBytes = 524'288;
inline constexpr std::uint32_t kMaxAutomaticBlockSamples = 4096;

// The number of samples in a block, for samples of `mean_bytes`: the power of two whose blocks come
// nearest, by ratio, to kPlannedBlockBytes. Blocks have between 365 and 732 KiB, unless a single
// sample is larger or 4096 of them are smaller.
constexpr std::uint32_t AutomaticBlockSamples(std::uint64_t mean_bytes) noexcept {
  constexpr std::uint64_t kAtLeast =
      kPlannedBlockBytes * 5 / 7;  // about 1/sqrt(2) of it: half a step, by ratio
  std::uint32_t samples = 1;
  while (samples < kMaxAutomaticBlockSamples && samples * mean_bytes < kAtLeast)
    samples *= 2;
  return samples;
}

}  // namespace sluice
