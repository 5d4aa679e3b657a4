#include "reader/dataset/dataset_state.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>

#include <sluice/error.h>

#include "format/disk/absolute_path.h"
#include "format/disk/system_error.h"
#include "format/remote/local_store.h"
#include "format/remote/remote_manifest.h"
#include "reader/dataset/mixed_datasets.h"

namespace sluice {

namespace {

// The dataset's folder, if the path is that folder or the manifest in it.
std::filesystem::path FolderOf(const std::filesystem::path& path) {
  if (path.filename() != kManifestName) return path;
  return path.has_parent_path() ? path.parent_path() : ".";
}

DatasetShape ShapeOf(const Manifest& manifest) {
  std::vector<DatasetShape::Shard> shards;
  shards.reserve(manifest.shards.size());
  for (const ManifestShard& shard : manifest.shards) {
    shards.push_back({shard.samples, shard.blocks, shard.block_samples, shard.bytes});
  }
  return DatasetShape(std::move(shards));
}

std::vector<ImageSummary> ImagesOfManifest(const Manifest& manifest) {
  std::vector<ImageSummary> summaries;
  for (const Field& field : manifest.schema.fields) {
    if (field.kind != FieldKind::kImage) continue;
    const ManifestImages& images = manifest.images[summaries.size()];
    ImageSummary summary;
    summary.field = field.name;
    summary.min_width = images.min_width;
    summary.max_width = images.max_width;
    summary.min_height = images.min_height;
    summary.max_height = images.max_height;
    summary.min_channels = static_cast<std::uint8_t>(images.min_channels);
    summary.max_channels = static_cast<std::uint8_t>(images.max_channels);
    summary.pixel_type = static_cast<PixelType>(images.pixel_type);
    summary.max_payload_bytes = images.max_payload_bytes;
    summary.payload_bytes = images.payload_bytes;
    summary.present = images.present;
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::unique_ptr<RecentShards> RecentFor(const Manifest& manifest, std::size_t most_mapped) {
  if (manifest.shards.size() <= most_mapped) return nullptr;
  return std::make_unique<RecentShards>(most_mapped);
}

Manifest ReadManifestText(const std::filesystem::path& folder, ObjectStore* store,
                          std::string& id) {
  Id128 digest;
  Manifest manifest =
      store != nullptr ? ReadManifest(*store, digest) : ReadManifest(folder, digest);
  id = ToHex(digest);
  return manifest;
}

}  // namespace

DatasetState::Source DatasetState::SourceOf(const std::filesystem::path& path) {
  const std::filesystem::path folder = FolderOf(path);
  if (!IsStoreUrl(folder.string())) return {folder, StoreIfUnmappable(folder)};
  std::shared_ptr<ObjectStore> store = OpenStore(folder.string());
  return {store->url(), store};
}

DatasetState::DatasetState(const std::filesystem::path& path, std::size_t most_mapped,
                           const ReadLimits& read_limits)
    : DatasetState(SourceOf(path), most_mapped, read_limits) {}

DatasetState::DatasetState(std::shared_ptr<ObjectStore> from, const ReadLimits& read_limits)
    : DatasetState(Source{from->url(), from}, MostMappedShards(), read_limits) {}

DatasetState::DatasetState(Source source, std::size_t most_mapped, const ReadLimits& read_limits)
    : folder(std::move(source.folder)),
      place(source.store != nullptr ? folder : AbsolutePath(folder)),
      store(std::move(source.store)),
      manifest(ReadManifestText(folder, store.get(), id)),
      layout(manifest.schema),
      limits(manifest, read_limits),
      shape(ShapeOf(manifest)),
      images(ImagesOfManifest(manifest)),
      remote(store != nullptr ? RemoteShards::Open(store, manifest, id, {}) : nullptr),
      most_mapped_(most_mapped),
      schema_(std::make_shared<const ShardSchema>(manifest.schema)),
      recent_(RecentFor(manifest, most_mapped)),
      originals_(keeps_all() ? manifest.shards.size() : 0),
      open_(originals_.size()) {
  for (const ManifestShard& shard : manifest.shards) {
    shards.push_back({shard.file, shard.samples, shard.blocks, shard.bytes, shard.block_samples});
  }
}

DatasetState::DatasetState(const DatasetState& other, MapAdvice advice,
                           const std::optional<BlockCache>& cache)
    : folder(other.folder),
      place(other.place),
      store(other.store),
      id(other.id),
      manifest(other.manifest),
      layout(other.layout),
      limits(other.limits),
      shape(other.shape),
      shards(other.shards),
      images(other.images),
      mixed(other.mixed),
      mixture(other.mixture),
      remote(store != nullptr ? RemoteShards::Open(store, manifest, id, cache) : nullptr),
      advice_(advice),
      most_mapped_(other.most_mapped_),
      schema_(other.schema_),
      recent_(RecentFor(manifest, most_mapped_)),
      originals_(other.originals_.size()),
      open_(originals_.size()) {}

namespace {

std::size_t MostMappedOf(const std::vector<MixedDataset>& mixed) {
  std::size_t most = MostMappedShards();
  for (const MixedDataset& part : mixed) {
    // If one of them does not keep all of its shards mapped, all of them together do not.
    most = std::min(most, part.dataset->most_mapped());
  }
  return most;
}

}  // namespace

DatasetState::DatasetState(MixedDatasets&& mixture_of)
    : folder(mixture_of.name),
      place(folder),
      id(mixture_of.id),
      manifest(std::move(mixture_of.manifest)),
      layout(manifest.schema),
      limits(manifest, mixture_of.limits),
      shape(ShapeOf(manifest)),
      images(ImagesOfManifest(manifest)),
      mixed(std::move(mixture_of.datasets)),
      mixture(std::move(mixture_of.rule)),
      most_mapped_(MostMappedOf(mixed)),
      schema_(std::make_shared<const ShardSchema>(manifest.schema)),
      recent_(RecentFor(manifest, most_mapped_)),
      originals_(keeps_all() ? manifest.shards.size() : 0),
      open_(originals_.size()) {
  for (const ManifestShard& shard : manifest.shards)
    shards.push_back({shard.file, shard.samples, shard.blocks, shard.bytes, shard.block_samples});
}

const MixedDataset& DatasetState::PartWith(std::uint32_t shard) const noexcept {
  return *std::prev(std::upper_bound(
      mixed.begin(), mixed.end(), shard,
      [](std::uint32_t number, const MixedDataset& part) { return number < part.first_shard; }));
}

bool DatasetState::one_layout() const noexcept {
  return std::all_of(mixed.begin(), mixed.end(),
                     [this](const MixedDataset& part) { return part.layout == layout; });
}

const DatasetState* DatasetState::LacksField(std::size_t field) const noexcept {
  for (const MixedDataset& part : mixed)
    if (!part.layout.has(field)) return part.dataset.get();
  return nullptr;
}

std::unique_ptr<ShardFile> DatasetState::Open(std::uint32_t shard, const ShardCopy& copy) const {
  const auto open = [&] {
    if (remote != nullptr) {
      return std::make_unique<ShardFile>(remote->PartsOf(shard), schema_, manifest.shards[shard]);
    }
    const ShardExpectation expect = ShardExpectation::Of(manifest.shards[shard]);
    const std::filesystem::path path =
        copy.folder != nullptr ? copy.folder->path() / copy.name : PlaceOf(shard);
    const FileHandle file =
        copy.folder != nullptr ? copy.folder->OpenForReading(copy.name) : OpenForReading(path);
    return std::make_unique<ShardFile>(MappedFile(file, path, advice_), path.string(), schema_,
                                       expect);
  };
  if (keeps_all()) return open();
  try {
    return open();
  } catch (const SystemError& error) {
    if (error.number() != ENOMEM) throw;
  }
  recent_->DropHalf();
  return open();
}

std::filesystem::path DatasetState::PlaceOf(std::uint32_t shard) const {
  return place / manifest.shards[shard].file;
}

ShardUse DatasetState::Shard(std::uint32_t shard) {
  if (ShardUse open = OpenShard(shard)) return open;
  return OpenNow(shard);
}

ShardUse DatasetState::Shard(std::uint32_t shard, std::shared_ptr<const Error>& fault) {
  if (ShardUse open = OpenShard(shard)) return open;
  fault = KnownFault(shard);
  if (fault != nullptr) return {};
  try {
    return OpenNow(shard);
  } catch (const Error& error) {
    fault = Remember(shard, error);
    return {};
  }
}

std::vector<ShardParts::Held> DatasetState::BeginOpening(std::uint32_t shard) const {
  const ShardFrame frame = ShardFrame::Of(*schema_, manifest.shards[shard]);
  return {remote->Begin(shard, {&frame.start, 1}, {}), remote->Begin(shard, {&frame.end, 1}, {})};
}

void DatasetState::AskForFrame(std::uint32_t shard) const noexcept {
  if (remote != nullptr || OpenShard(shard) != nullptr) return;
  if (!mixed.empty()) {
    const MixedDataset& part = PartWith(shard);
    return part.dataset->AskForFrame(shard - part.first_shard);
  }
  try {
    const ShardFrame frame = ShardFrame::Of(*schema_, manifest.shards[shard]);
    const FileHandle file = OpenForReading(PlaceOf(shard));
    for (const ShardParts::Part& part : {frame.start, frame.end})
      posix_fadvise(file.get(), static_cast<off_t>(part.offset), static_cast<off_t>(part.bytes),
                    POSIX_FADV_WILLNEED);
  } catch (const std::exception&) {
    return;  // opening it will say so
  }
}

std::uint64_t DatasetState::FrameBytes() const noexcept {
  std::uint64_t bytes = 0;
  std::uint64_t most = 0;
  for (const ManifestShard& shard : manifest.shards) {
    const ShardFrame frame = ShardFrame::Of(*schema_, shard);
    bytes += frame.start.bytes + frame.end.bytes;
    most = std::max(most, frame.start.bytes + frame.end.bytes);
  }
  return std::min(bytes, most * most_mapped_);
}

ShardParts::Held DatasetState::HoldBlock(std::uint32_t shard, const ShardFile& file,
                                         std::uint32_t block) {
  constexpr std::uint64_t kAhead = RemoteShards::kIdleBytes / 4;
  ShardParts::Held held = remote->Begin(shard, file.PartsOf(block).whole(), {});
  const std::uint64_t number = shape.first_block(shard) + block;
  const std::uint64_t before = last_held_.exchange(number, std::memory_order_relaxed);
  if (number == before + 1) {
    // Nobody holds these; they stay for a while.
    std::uint64_t ahead = 0;
    std::uint32_t next = block + 1;
    for (; next < file.blocks() && ahead < kAhead; ++next) {
      remote->Begin(shard, file.PartsOf(next).whole(), {});
      ahead += file.block_entry(next).bytes;
    }
    if (next == file.blocks() && shard + 1 < shards.size()) BeginOpening(shard + 1);
  }
  remote->Await(held);
  return held;
}

ShardUse DatasetState::OpenInPart(std::uint32_t shard) {
  const MixedDataset& part = PartWith(shard);
  ShardUse use = part.dataset->Shard(shard - part.first_shard);
  if (keeps_all()) {
    open_[shard].store(use.get(), std::memory_order_release);
  } else {
    recent_->Keep(shard, use);
  }
  return use;
}

ShardUse DatasetState::OpenNow(std::uint32_t shard) {
  if (!mixed.empty()) return OpenInPart(shard);
  // Before the mutex, so that several threads can wait for several shards.
  std::vector<ShardParts::Held> frame;
  if (remote != nullptr) frame = BeginOpening(shard);
  for (const ShardParts::Held& held : frame)
    remote->Await(held);
  if (keeps_all()) {
    const MutexLock lock(open_mutex_);
    if (ShardUse open = OpenShard(shard)) return open;
    const ShardFile& original = KeepOriginal(shard);
    open_[shard].store(&original, std::memory_order_release);
    return Uncounted(&original);
  }
  ShardCopy copy;
  {
    const MutexLock lock(open_mutex_);
    copy = CopyOf(shard);
  }
  // Outside of any lock: threads open shards side by side, and one may be opened twice.
  ShardUse opened;
  if (copy.folder != nullptr) {
    try {
      opened = Open(shard, copy);
    } catch (const Error&) {  // the copy is gone or damaged: read the shard itself
      const MutexLock lock(open_mutex_);
      if (CopyOf(shard) == copy) copied_to_.erase(shard);
      copy = {};
    }
  }
  if (opened == nullptr) opened = Open(shard);
  const MutexLock lock(open_mutex_);
  if (CopyOf(shard) == copy)
    recent_->Keep(shard, opened);  // else a copy was added or given up meanwhile
  return opened;
}

ShardCopy DatasetState::CopyOf(std::uint32_t shard) const {
  const auto copy = copied_to_.find(shard);
  return copy == copied_to_.end() ? ShardCopy() : copy->second;
}

const ShardFile& DatasetState::KeepOriginal(std::uint32_t shard) {
  std::unique_ptr<ShardFile>& original = originals_[shard];
  if (original == nullptr) original = Open(shard);
  return *original;
}

std::shared_ptr<const Error> DatasetState::KnownFault(std::uint32_t shard) {
  if (!any_fault_.load(std::memory_order_acquire)) return nullptr;
  const MutexLock lock(fault_mutex_);
  const auto found = faults_.find(shard);
  return found == faults_.end() ? nullptr : found->second;
}

std::shared_ptr<const Error> DatasetState::Remember(std::uint32_t shard, const Error& error) {
  auto fault = std::make_shared<const Error>(error);
  // If this process lacks memory or mappings, the shard itself may be sound.
  if (IsShortage(error)) return fault;
  const MutexLock lock(fault_mutex_);
  faults_.insert_or_assign(shard, fault);
  any_fault_.store(true, std::memory_order_release);
  return fault;
}

void DatasetState::ForgetFaults() {
  if (!any_fault_.load(std::memory_order_acquire)) return;
  const MutexLock lock(fault_mutex_);
  faults_.clear();
  any_fault_.store(false, std::memory_order_release);
}

ShardUse DatasetState::Original(std::uint32_t shard) {
  if (!keeps_all()) return Open(shard);
  const MutexLock lock(open_mutex_);
  return Uncounted(&KeepOriginal(shard));
}

void DatasetState::ReadFrom(std::uint32_t shard, const ShardCopy& copy) {
  std::unique_ptr<ShardFile> opened = Open(shard, copy);
  const MutexLock lock(open_mutex_);
  if (keeps_all()) {
    copies_.push_back(std::move(opened));
    open_[shard].store(copies_.back().get(), std::memory_order_release);
  } else {
    copied_to_[shard] = copy;
    recent_->Keep(shard, std::move(opened));
  }
}

bool DatasetState::IsCopy(std::uint32_t shard, const ShardFile& file) const {
  return file.name() != PlaceOf(shard).string();
}

bool DatasetState::LeaveCopy(std::uint32_t shard, const ShardFile& copy) {
  const MutexLock lock(open_mutex_);
  if (keeps_all()) {
    if (open_[shard].load(std::memory_order_acquire) != &copy) return false;
    open_[shard].store(&KeepOriginal(shard), std::memory_order_release);
    return true;
  }
  const auto found = copied_to_.find(shard);
  if (found == copied_to_.end() ||
      (found->second.folder->path() / found->second.name).string() != copy.name()) {
    return false;
  }
  copied_to_.erase(found);
  recent_->Drop(shard);
  return true;
}

std::size_t DatasetState::FieldIndex(std::string_view name) const {
  const std::size_t field = manifest.schema.Find(name);
  if (field != Schema::kNone) return field;
  std::string known;
  for (const Field& other : manifest.schema.fields) {
    known += (known.empty() ? "" : ", ") + other.name;
  }
  throw Error(ErrorCode::kInvalidArgument, folder.string(),
              "has no field \"" + std::string(name) + "\"; it has: " + known);
}

std::size_t DatasetState::ImageField(std::string_view name) const {
  const std::vector<Field>& fields = manifest.schema.fields;
  if (name.empty()) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (fields[f].kind == FieldKind::kImage) return f;
    }
    throw Error(ErrorCode::kInvalidArgument, folder.string(), "has no image field");
  }
  const std::size_t field = FieldIndex(name);
  if (fields[field].kind == FieldKind::kImage) return field;
  throw Error(ErrorCode::kInvalidArgument, folder.string(),
              "field \"" + std::string(name) + "\" is not an image");
}

const ImageSummary& DatasetState::ImagesOf(std::size_t field) const {
  std::size_t before = 0;
  for (std::size_t f = 0; f < field; ++f) {
    before += manifest.schema.fields[f].kind == FieldKind::kImage ? 1 : 0;
  }
  return images[before];
}

std::uint64_t DatasetState::RawImageBytes(std::size_t field) const {
  if (field == Schema::kNone) return 0;
  const ImageSummary& summary = ImagesOf(field);
  const std::uint64_t bytes = std::uint64_t{summary.max_width} * summary.max_height *
                              summary.max_channels * SizeOf(summary.pixel_type);
  return summary.uniform() && summary.payload_bytes == summary.present * bytes ? bytes : 0;
}

}  // namespace sluice
