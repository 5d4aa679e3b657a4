// The state shared by all handles to an opened dataset: its manifest and the mapped shards.
//
// With at most MostMappedShards() shards, a shard stays mapped once it has been used, and is found
// without a lock. With more, those used last stay mapped. A shard that could not be opened is tried
// again once an epoch, not for each of its samples and blocks.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sluice/dataset.h>

#include "format/disk/manifest.h"
#include "format/disk/shard.h"
#include "format/disk/shared_folder.h"
#include "format/mutex.h"
#include "format/remote/cache/remote_shards.h"
#include "reader/dataset/key_cache.h"
#include "reader/dataset/key_index.h"
#include "reader/dataset/mixed_dataset.h"
#include "reader/dataset/recent_shards.h"
#include "reader/dataset/value_limits.h"
#include "reader/order/shape.h"

namespace sluice {

struct MixedDatasets;

// A copy of a shard in a stage.
struct ShardCopy {
  std::shared_ptr<const SharedFolder> folder;  // null: none
  std::string name;                            // there
  friend bool operator==(const ShardCopy&, const ShardCopy&) = default;
};

struct DatasetState {
  explicit DatasetState(const std::filesystem::path& folder,
                        std::size_t most_mapped = MostMappedShards(),
                        const ReadLimits& limits = {});
  // A dataset in an object store.
  explicit DatasetState(std::shared_ptr<ObjectStore> store, const ReadLimits& limits = {});
  // The same dataset, with none of its shards mapped yet. `cache`: where to keep what is fetched of
  // one in an object store.
  DatasetState(const DatasetState& other, MapAdvice advice,
               const std::optional<BlockCache>& cache = {});
  // The datasets of a mixture as one. Their shards are opened, and stay open, in their own states.
  explicit DatasetState(MixedDatasets&& mixed);
  DatasetState(const DatasetState&) = delete;
  DatasetState& operator=(const DatasetState&) = delete;

  // Whether all shards stay mapped: then a pointer to one is valid as long as this lives.
  bool keeps_all() const noexcept { return recent_ == nullptr; }
  std::size_t most_mapped() const noexcept { return most_mapped_; }
  // Returns the shard, and maps it if needed. Throws Error. Thread-safe.
  ShardUse Shard(std::uint32_t shard);
  // The same, but returns null and sets `fault` if the shard cannot be opened, and remembers that:
  // a loader opens it once, not for each of its samples.
  ShardUse Shard(std::uint32_t shard, std::shared_ptr<const Error>& fault);
  // The shard if it is mapped already, else null.
  ShardUse OpenShard(std::uint32_t shard) const {
    if (!keeps_all()) return recent_->Find(shard);
    // Pairs with the release in Keep(): a thread that sees the pointer sees the whole shard.
    return Uncounted(open_[shard].load(std::memory_order_acquire));
  }
  // The same without counting, if keeps_all(): valid as long as this lives.
  const ShardFile* KeptShard(std::uint32_t shard) const noexcept {
    return open_[shard].load(std::memory_order_acquire);
  }
  // The fault that is remembered of a shard, or null.
  std::shared_ptr<const Error> KnownFault(std::uint32_t shard);
  // From now on, shards whose fault is remembered are tried again.
  void ForgetFaults();
  // From now on, reads the shard from that copy. The copy is checked as the shard itself would be;
  // if it fails, throws Error and changes nothing. Earlier mappings stay. Thread-safe.
  void ReadFrom(std::uint32_t shard, const ShardCopy& copy);
  // The shard in the dataset's folder, even if it is read from a copy. Throws Error. Thread-safe.
  ShardUse Original(std::uint32_t shard);
  // Whether `file` is a copy of the shard. Thread-safe.
  bool IsCopy(std::uint32_t shard, const ShardFile& file) const;
  // If the shard is still read from that copy, reads it from the dataset's folder again, and
  // returns true. Throws Error. Thread-safe.
  bool LeaveCopy(std::uint32_t shard, const ShardFile& copy);

  // The key of a sample of a shard of this dataset. Throws Error. Thread-safe.
  std::string Key(const ShardFile& file, std::uint64_t sample, std::uint64_t most = UINT64_MAX) {
    return keys_.Key(file, sample, most);
  }

  // The number of the first sample of that key. Throws Error. Thread-safe.
  std::optional<std::uint64_t> Find(std::string_view key) { return by_key_.Find(*this, key); }

  // "label" -> its index; throws Error(kInvalidArgument) that names the fields there are.
  std::size_t FieldIndex(std::string_view name) const;
  // The image field of that name, or the first one for {}.
  std::size_t ImageField(std::string_view name) const;
  // The manifest's summary of that image field.
  const ImageSummary& ImagesOf(std::size_t field) const;
  // Bytes of each of its images if all are raw and of one size; else 0, and 0 for Schema::kNone.
  std::uint64_t RawImageBytes(std::size_t field) const;

  std::filesystem::path folder;        // as the caller named it
  std::filesystem::path place;         // the absolute path, used to open files
  std::shared_ptr<ObjectStore> store;  // null: a folder
  std::string id;
  Manifest manifest;
  // How rows are laid out, and the limits on their values: see LayoutOf() and LimitsOf().
  RowLayout layout;
  ValueLimits limits;
  DatasetShape shape;
  std::vector<ShardSummary> shards;
  std::vector<ImageSummary> images;
  const std::vector<MixedDataset> mixed;     // empty: one dataset, not a mixture
  const std::optional<MixtureRule> mixture;  // of a mixture with weights
  // Of the rows of that shard: the datasets of a mixture may differ.
  const RowLayout& LayoutOf(std::uint32_t shard) const noexcept {
    return mixed.empty() ? layout : PartWith(shard).layout;
  }
  const ValueLimits& LimitsOf(std::uint32_t shard) const noexcept {
    return mixed.empty() ? limits : PartWith(shard).limits;
  }
  // Whether the rows of all shards are laid out alike.
  bool one_layout() const noexcept;
  // A dataset of the mixture that lacks the field, or null.
  const DatasetState* LacksField(std::size_t field) const noexcept;
  // The shards of a dataset in an object store; null for one in a folder.
  const std::shared_ptr<RemoteShards> remote;
  // Begins to fetch what opening the shard needs. Keep the result until it is open.
  std::vector<ShardParts::Held> BeginOpening(std::uint32_t shard) const;
  // Of a folder: makes the kernel begin to read what opening the shard needs, if it is not open.
  // Nobody waits for it.
  void AskForFrame(std::uint32_t shard) const noexcept;
  // The bytes of shards' frames that stay in memory at once.
  std::uint64_t FrameBytes() const noexcept;
  // Fetches a block, and holds it. If one is asked for after the other, also begins to fetch those
  // that come next. Throws Error. Thread-safe.
  ShardParts::Held HoldBlock(std::uint32_t shard, const ShardFile& file, std::uint32_t block);

 private:
  struct Source {
    std::filesystem::path folder;
    std::shared_ptr<ObjectStore> store;
  };
  DatasetState(Source source, std::size_t most_mapped, const ReadLimits& limits);
  static Source SourceOf(const std::filesystem::path& path);
  static ShardUse Uncounted(const ShardFile* shard) noexcept { return {ShardUse(), shard}; }
  const MixedDataset& PartWith(std::uint32_t shard) const noexcept;
  std::unique_ptr<ShardFile> Open(std::uint32_t shard, const ShardCopy& copy = {}) const;
  std::filesystem::path PlaceOf(std::uint32_t shard) const;
  ShardUse OpenNow(std::uint32_t shard);
  ShardUse OpenInPart(std::uint32_t shard);
  ShardCopy CopyOf(std::uint32_t shard) const REQUIRES(open_mutex_);
  const ShardFile& KeepOriginal(std::uint32_t shard) REQUIRES(open_mutex_);
  std::shared_ptr<const Error> Remember(std::uint32_t shard, const Error& error);

  std::atomic<std::uint64_t> last_held_{0};  // by HoldBlock()
  KeyCache keys_;
  KeyIndex by_key_;
  const MapAdvice advice_ = MapAdvice::kNormal;
  const std::size_t most_mapped_;
  const std::shared_ptr<const ShardSchema> schema_;
  // Null if all shards stay mapped.
  const std::unique_ptr<RecentShards> recent_;
  Mutex open_mutex_;  // if all stay mapped: held while a shard is being mapped
  std::vector<std::unique_ptr<ShardFile>> originals_ GUARDED_BY(open_mutex_);  // if all stay mapped
  std::vector<std::unique_ptr<ShardFile>> copies_
      GUARDED_BY(open_mutex_);  // the same: all there ever were, threads may read there
  std::vector<std::atomic<const ShardFile*>> open_;                                 // the same
  std::unordered_map<std::uint32_t, ShardCopy> copied_to_ GUARDED_BY(open_mutex_);  // not all kept

  std::atomic<bool> any_fault_{false};
  Mutex fault_mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<const Error>> faults_
      GUARDED_BY(fault_mutex_);  // by shard
};

// A handle to an opened dataset.
Dataset DatasetOf(std::shared_ptr<DatasetState> state);

}  // namespace sluice
