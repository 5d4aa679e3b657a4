// What all handles to an opened dataset share: its manifest, and the shards that have been mapped.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sluice/dataset.h>

#include "format/disk/manifest.h"
#include "format/disk/shard.h"
#include "reader/order/shape.h"

namespace sluice {

struct DatasetState {
  explicit DatasetState(const std::filesystem::path& folder);
  // The same dataset, with none of its shards mapped yet.
  DatasetState(const DatasetState& other, MapAdvice advice);
  DatasetState(const DatasetState&) = delete;
  DatasetState& operator=(const DatasetState&) = delete;

  // The shard, mapped on first use. Throws Error. Thread-safe, and lock-free once it is mapped.
  const ShardFile& Shard(std::uint32_t shard);
  // The shard if it is open already, else null.
  const ShardFile* OpenShard(std::uint32_t shard) const noexcept {
    // Pairs with the release in Shard(): who sees the pointer sees the shard that it points to.
    return open_[shard].load(std::memory_order_acquire);
  }
  // From now on the shard is read from that copy of it, which is checked as the shard itself would
  // be: throws Error, and changes nothing. What was mapped before stays so. Thread-safe.
  void ReadFrom(std::uint32_t shard, const std::filesystem::path& copy);
  // The shard where it lies in the dataset's folder, whatever it is read from. Throws Error.
  // Thread-safe.
  const ShardFile& Original(std::uint32_t shard);
  // Whether that is a copy of the shard. Thread-safe.
  bool IsCopy(std::uint32_t shard, const ShardFile& file);
  // If the shard is still read from that copy, it is read where it lies again. Whether it was.
  // Throws Error. Thread-safe.
  bool LeaveCopy(std::uint32_t shard, const ShardFile& copy);

  // "label" -> its index; throws Error(kInvalidArgument) that names the fields there are.
  std::size_t FieldIndex(std::string_view name) const;
  // The image field of that name, or the first one for {}.
  std::size_t ImageField(std::string_view name) const;
  // What the manifest says of that image field.
  const ImageSummary& ImagesOf(std::size_t field) const;
  // What each of its images takes, if all are raw and of one size; else 0, as for Schema::kNone.
  std::uint64_t RawImageBytes(std::size_t field) const;

  std::filesystem::path folder;  // as it was named
  std::filesystem::path place;   // the same from the root: what is opened
  std::string id;
  Manifest manifest;
  RowLayout layout;
  DatasetShape shape;
  std::vector<ShardSummary> shards;
  std::vector<ImageSummary> images;

 private:
  const MapAdvice advice_ = MapAdvice::kNormal;
  std::unique_ptr<ShardFile> Open(std::uint32_t shard, const std::filesystem::path& path) const;
  const ShardFile& OpenOriginal(std::uint32_t shard);  // mutex held

  std::mutex open_mutex_;  // held while a shard is being mapped
  std::vector<std::unique_ptr<ShardFile>> originals_;
  std::vector<std::unique_ptr<ShardFile>> copies_;  // all there ever were: threads may read there
  std::vector<std::atomic<const ShardFile*>> open_;
};

}  // namespace sluice
