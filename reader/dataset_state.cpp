#include "reader/dataset_state.h"

#include <sluice/error.h>

#include "format/disk/absolute_path.h"

namespace sluice {

namespace {

// The folder of a dataset named by itself or by its manifest.
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

Manifest ReadManifestText(const std::filesystem::path& folder, std::string& id) {
  Id128 digest;
  Manifest manifest = ReadManifest(folder, digest);
  id = ToHex(digest);
  return manifest;
}

}  // namespace

DatasetState::DatasetState(const std::filesystem::path& path)
    : folder(FolderOf(path)),
      place(AbsolutePath(folder)),
      manifest(ReadManifestText(folder, id)),
      layout(manifest.schema),
      shape(ShapeOf(manifest)),
      images(ImagesOfManifest(manifest)),
      originals_(manifest.shards.size()),
      open_(manifest.shards.size()) {
  for (const ManifestShard& shard : manifest.shards) {
    shards.push_back({shard.file, shard.samples, shard.blocks, shard.bytes, shard.block_samples});
  }
}

DatasetState::DatasetState(const DatasetState& other, MapAdvice advice)
    : folder(other.folder),
      place(other.place),
      id(other.id),
      manifest(other.manifest),
      layout(other.layout),
      shape(other.shape),
      shards(other.shards),
      images(other.images),
      advice_(advice),
      originals_(shards.size()),
      open_(shards.size()) {}

std::unique_ptr<ShardFile> DatasetState::Open(std::uint32_t shard,
                                              const std::filesystem::path& path) const {
  return std::make_unique<ShardFile>(path, manifest.schema,
                                     ShardExpectation::Of(manifest.shards[shard]), advice_);
}

const ShardFile& DatasetState::Shard(std::uint32_t shard) {
  if (const ShardFile* const open = OpenShard(shard)) return *open;
  const std::lock_guard lock(open_mutex_);
  if (const ShardFile* const open = OpenShard(shard)) return *open;
  const ShardFile& original = OpenOriginal(shard);
  open_[shard].store(&original, std::memory_order_release);
  return original;
}

const ShardFile& DatasetState::OpenOriginal(std::uint32_t shard) {
  std::unique_ptr<ShardFile>& original = originals_[shard];
  if (original == nullptr) original = Open(shard, place / manifest.shards[shard].file);
  return *original;
}

const ShardFile& DatasetState::Original(std::uint32_t shard) {
  const std::lock_guard lock(open_mutex_);
  return OpenOriginal(shard);
}

void DatasetState::ReadFrom(std::uint32_t shard, const std::filesystem::path& copy) {
  std::unique_ptr<ShardFile> opened = Open(shard, copy);
  const std::lock_guard lock(open_mutex_);
  copies_.push_back(std::move(opened));
  open_[shard].store(copies_.back().get(), std::memory_order_release);
}

bool DatasetState::IsCopy(std::uint32_t shard, const ShardFile& file) {
  const std::lock_guard lock(open_mutex_);
  return &file != originals_[shard].get();
}

bool DatasetState::LeaveCopy(std::uint32_t shard, const ShardFile& copy) {
  const std::lock_guard lock(open_mutex_);
  if (OpenShard(shard) != &copy) return false;
  open_[shard].store(&OpenOriginal(shard), std::memory_order_release);
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
              "field \"" + std::string(name) + "\" is no image");
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
