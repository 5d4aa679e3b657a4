// A dataset on disk for the editing functions: its manifest, and its samples as stored.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>

#include <sluice/error.h>

#include "format/disk/keys.h"
#include "format/disk/manifest.h"
#include "format/disk/shard.h"
#include "format/remote/cache/remote_shards.h"

namespace sluice {

struct StoredDataset {
  // `path`: a folder, the URL of a dataset in an object store, or a manifest in either. Reads of
  // the store end soon after a stop request.
  explicit StoredDataset(const std::filesystem::path& path, const std::stop_token& stop = {})
      : StoredDataset(ManifestPlace::Of(path), stop) {}
  explicit StoredDataset(const ManifestPlace& place, const std::stop_token& stop = {});

  // A column of the dataset, as a dataset.
  StoredDataset Column(std::size_t column) const;

  // Opens shard number `shard` and compares it with the manifest.
  ShardFile Open(std::size_t shard) const;

  bool in_store() const { return IsStoreUrl(folder.string()); }
  // Calls visit(name, bytes) for each file in the folder or store.
  void ForEachFile(
      const std::function<void(const std::string& name, std::uint64_t bytes)>& visit) const;
  // Reads a manifest of the folder or store. `info`: see ObjectStore::Get(); only for a store.
  std::vector<std::byte> ReadText(const std::string& name, ObjectInfo* info = nullptr) const;

  std::filesystem::path folder;
  std::string manifest_name;           // of its file in the folder
  std::shared_ptr<ObjectStore> store;  // null for a folder
  // Ends the store's reads after a stop request.
  std::shared_ptr<std::stop_callback<std::function<void()>>> on_stop;
  Id128 id;
  Manifest manifest;
  std::shared_ptr<RemoteShards> remote;  // the shards in the store
};

// The samples that were not deleted, in order.
class LivingSamples {
 public:
  explicit LivingSamples(const Manifest& manifest);

  std::uint64_t size() const noexcept { return size_; }
  // The number of the i-th of them in the dataset.
  std::uint64_t operator[](std::uint64_t i) const noexcept;
  // How many of them have a smaller number than `sample`.
  std::uint64_t CountBefore(std::uint64_t sample) const noexcept;

 private:
  std::uint64_t size_;
  std::vector<DeletedRun> deleted_;
  std::vector<std::uint64_t> living_before_;  // by run
};

// RequireShards() for the dataset and its columns.
void RequireAllShards(const StoredDataset& dataset, const std::stop_token& stop);

// Calls visit(key) for each sample, in order.
void ForEachKey(const StoredDataset& dataset,
                const std::function<void(std::string_view key)>& visit);
// The key of one sample, for messages.
std::string KeyOfSample(const StoredDataset& dataset, std::uint64_t sample);

// The values of samples as users see them: fields of the shards and of the columns.
class VisibleRows {
 public:
  // Of the fields of these names, or of all. `dataset` must outlive it, and its copies. Throws
  // Error: kInvalidArgument for a field that the dataset lacks; kLimit if the fields do not fit one
  // record.
  // Keeps `max_open` shards of the dataset and of each column open.
  explicit VisibleRows(const StoredDataset& dataset, const std::vector<std::string>& fields = {},
                       std::size_t max_open = 4);

  const Schema& schema() const noexcept { return schema_; }
  // A sample's values as they are stored, without its key. Throws Error(kCorrupt) with the place.
  EncodedSample Values(std::uint64_t sample);

 private:
  struct Source {
    std::shared_ptr<const StoredDataset> dataset;
    Schema fields;  // those of this source
    RecordLayout layout;
    std::vector<std::size_t> targets;  // by field of `fields`: its index in schema_
    std::vector<std::uint64_t> ends;   // by shard: the number after its last sample
    std::vector<std::shared_ptr<const ShardFile>> files;  // by shard; null: not open
    std::deque<std::size_t> open;                         // shards, the first opened at the front

    const ShardFile& File(std::size_t shard, std::size_t max_open);
  };
  Schema schema_;
  std::vector<Source> sources_;
  std::size_t max_open_;
};

// Throws an Error for the first shard that does not match the manifest, before any work is done.
// Ends early when asked to stop.
void RequireShards(const StoredDataset& dataset, const std::stop_token& stop);

// Reads every byte of a shard: contents must match their checksums, and padding must be zero.
// Throws Error(kCorrupt) for the first fault, Error(kState) after a stop request, and the errors of
// reading.
void RequireWhole(const ShardFile& shard, const std::stop_token& stop = {});

// Copies a row of a block as it is stored, and compares its payloads with their checksums. The key
// is left empty. Returns what is wrong with the first damaged value, or nullptr.
Defect CopyRecord(const Schema& schema, const RecordLayout& layout, const BlockView& block,
                  std::uint32_t row, EncodedSample& sample);

// Sample number `index` of a shard, without its key. Throws Error(kCorrupt) with the place.
EncodedSample CopyValues(const ShardFile& shard, std::uint64_t index);
// The sample with its key. Throws Error(kCorrupt) with the place.
EncodedSample CopySample(const ShardFile& shard, std::uint64_t index);
// CopySample() for many samples in order: `keys`, one for each shard and thread, keeps the chunk of
// keys that was decompressed last.
EncodedSample CopySample(const ShardFile& shard, std::uint64_t index, KeyChunk& keys);

// Calls visit(shard, index in the shard, keys, i) for each of the `count` samples at(0), at(1),
// ..., whose numbers must increase; `keys` as above. Opens only shards that hold such samples.
template <class At, class Visit>
void ForEachSample(const StoredDataset& dataset, std::uint64_t count, At at, Visit visit) {
  std::uint64_t first = 0;  // of the shard, in the dataset
  std::uint64_t next = 0;
  for (std::size_t s = 0; next < count; ++s) {
    const std::uint64_t end = first + dataset.manifest.shards[s].samples;
    if (at(next) < end) {
      const ShardFile shard = dataset.Open(s);
      KeyChunk keys;
      for (; next < count && at(next) < end; ++next)
        visit(shard, at(next) - first, keys, next);
    }
    first = end;
  }
}

// The key of a sample alone; valid until the next call with the same `keys` (as above).
std::string_view KeyOf(const ShardFile& shard, std::uint64_t index, KeyChunk& keys);

// Adds file, place and key of a sample of this shard to an error that names no file.
Error AtSample(const Error& error, const ShardFile& shard, std::uint64_t index);

}  // namespace sluice
