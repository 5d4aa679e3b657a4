// The constructors of DatasetFacts for a folder or store, and for a source that is played; the one
// for a mixture is in mixture.cpp. Members are initialised in the order of their declaration, and
// some rely on it: `place` needs source.store before `store` takes it over, and reading the
// manifest also fills `id`.
//
// ValueLimits compares a value with two limits that mean different things. A value above the
// manifest's figure shows that the shard is damaged (kCorrupt). A value above ReadLimits may be
// sound, but the user does not want it (kLimit).
#include "reader/dataset/dataset_facts.h"

#include <algorithm>

#include <sluice/error.h>
#include <sluice/nearest_name.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/limits.h"
#include "format/disk/sample_supply.h"
#include "format/remote/local_store.h"
#include "format/remote/remote_manifest.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

namespace {
// The largest value if neither the manifest nor the user gives a limit.
constexpr std::uint64_t kUsualValueBytes = std::uint64_t{64} << 20;
}  // namespace

ValueLimits::ValueLimits(const Manifest& manifest, const ReadLimits& limits)
    : limits_(limits),
      values_known_(!manifest.values.empty()),
      images_(manifest.schema.fields.size()),
      values_(manifest.schema.fields.size()) {
  std::size_t image = 0;
  std::size_t value = 0;
  for (std::size_t f = 0; f < manifest.schema.fields.size(); ++f) {
    const Field& field = manifest.schema.fields[f];
    if (field.kind == FieldKind::kImage) images_[f] = manifest.images[image++];
    if (values_known_ && HasValues(field)) values_[f] = manifest.values[value++];
  }
}

// The user's limit replaces our own, and the manifest's figure lowers either.
std::uint64_t ValueLimits::bytes(std::size_t field) const noexcept {
  const std::uint64_t allowed = limits_.max_value_bytes != 0
                                    ? std::min(limits_.max_value_bytes, kMaxInflatedBytes)
                                : values_known_ ? kMaxInflatedBytes
                                                : kUsualValueBytes;
  return values_known_ ? std::min(allowed, values_[field].max_bytes) : allowed;
}

std::uint64_t ValueLimits::pixels(std::size_t field) const noexcept {
  const ImageFigures& images = images_[field];
  return std::min(limits_.max_pixels, std::uint64_t{images.max_width} * images.max_height);
}

ValueFault ValueLimits::CheckBytes(std::size_t field, std::uint64_t bytes) const noexcept {
  if (bytes <= this->bytes(field)) return {};
  if (values_known_ && bytes > values_[field].max_bytes)
    return {"the value is larger than the manifest says", ErrorCode::kCorrupt};
  return {"the value takes more memory than ReadLimits::max_value_bytes (--max-value-bytes) allows",
          ErrorCode::kLimit};
}

ValueFault ValueLimits::CheckEntry(std::size_t field, const ImagePayload& image) const noexcept {
  const ImageFigures& images = images_[field];
  if (image.width <= images.max_width && image.height <= images.max_height &&
      image.channels <= images.max_channels && image.bytes.size() <= images.max_payload_bytes &&
      Admits(images.pixel_type, image.pixel_type)) {
    return {};
  }
  return {"the image is larger than the manifest says", ErrorCode::kCorrupt};
}

ValueFault ValueLimits::CheckImage(std::size_t field, const ImagePayload& image) const noexcept {
  if (const ValueFault over = CheckEntry(field, image)) return over;
  if (std::uint64_t{image.width} * image.height <= limits_.max_pixels) return {};
  return {"the image has more pixels than ReadLimits::max_pixels (--max-pixels) allows",
          ErrorCode::kLimit};
}

namespace {

std::vector<ImageSummary> ImagesOfManifest(const Manifest& manifest) {
  std::vector<ImageSummary> summaries;
  for (const Field& field : manifest.schema.fields) {
    if (field.kind != FieldKind::kImage) continue;
    summaries.push_back({manifest.images[summaries.size()], field.name});
  }
  return summaries;
}

Manifest ReadManifestText(const ManifestPlace& place, ObjectStore* store, Id128& id) {
  return store != nullptr ? ReadManifest(*store, id, place.name) : ReadManifest(place.path(), id);
}

// By field, the column that has it. Empty if all fields lie in the image shards.
std::vector<std::uint32_t> SourcesOf(const Manifest& manifest, DatasetFacts::Fields fields) {
  if (fields == DatasetFacts::Fields::kOfShards || manifest.columns.empty()) return {};
  return VisibleFields::Of(manifest).sources;
}

// The id of a column: versions of a dataset that have the same shards of a column have the same id
// for it.
std::string DigestOf(const std::vector<ManifestShard>& shards) {
  std::vector<std::byte> list;
  for (const ManifestShard& shard : shards) {
    for (const Id128& id : {shard.id, shard.digest}) {
      const Bytes bytes = std::as_bytes(std::span(id.bytes));
      list.insert(list.end(), bytes.begin(), bytes.end());
    }
    const Bytes size = std::as_bytes(std::span(&shard.bytes, 1));
    list.insert(list.end(), size.begin(), size.end());
  }
  return ToHex(Hash128(list));
}

}  // namespace

DatasetFacts::Source DatasetFacts::Source::Of(const std::filesystem::path& path,
                                              const std::stop_token& stop) {
  ManifestPlace place = ManifestPlace::Of(path);
  if (IsStoreUrl(place.folder.string()))
    return Of(OpenStore(place.folder.string()), stop, place.name);
  // A file system that cannot map files is read like an object store, part by part.
  std::shared_ptr<ObjectStore> unmappable = StoreIfUnmappable(place.folder);
  return {std::move(place), std::move(unmappable)};
}

DatasetFacts::Source DatasetFacts::Source::Of(std::shared_ptr<ObjectStore> store,
                                              const std::stop_token& stop,
                                              const std::string& manifest) {
  ManifestPlace place{store->url(), manifest};
  using OnStop = std::stop_callback<std::function<void()>>;
  return {std::move(place), store, std::make_shared<OnStop>(stop, [store] { store->StopCalls(); })};
}

DatasetFacts::DatasetFacts(Source source, const ReadLimits& read_limits, Fields fields)
    : DatasetFacts(
          [&source] {
            Id128 digest;
            Manifest read = ReadManifestText(source.place, source.store.get(), digest);
            return std::pair(std::move(read), ToHex(digest));
          }(),
          std::move(source), read_limits, fields) {}

DatasetFacts::DatasetFacts(std::pair<Manifest, std::string> read, Source&& source,
                           const ReadLimits& read_limits, Fields fields)
    : folder(source.place.folder),
      path(source.place.path()),
      place(source.store != nullptr ? folder : AbsolutePath(folder)),
      store(std::move(source.store)),
      on_stop(std::move(source.on_stop)),
      id(std::move(read.second)),
      stored(read.first.schema),
      sources(SourcesOf(read.first, fields)),
      manifest(fields == Fields::kVisible ? WithVisibleFields(std::move(read.first))
                                          : std::move(read.first)),
      layout(LayoutIn(manifest.schema, 0)),
      limits(manifest, read_limits),
      shape(ShapeOf(manifest)) {
  Summarize();
  for (std::size_t c = 0; c < manifest.columns.size(); ++c) {
    columns.push_back(
        {std::shared_ptr<const DatasetFacts>(new DatasetFacts(*this, manifest.columns[c])),
         RecordLayout(manifest.columns[c].schema)});
    if (fields == Fields::kVisible)
      columns.back().layout = LayoutIn(manifest.schema, static_cast<std::uint32_t>(c + 1));
  }
}

DatasetFacts::DatasetFacts(const DatasetFacts& of, Manifest column)
    : folder(of.folder),
      path(of.path),
      place(of.place),
      store(of.store),
      on_stop(of.on_stop),
      id(DigestOf(column.shards)),
      stored(column.schema),
      manifest(std::move(column)),
      layout(stored),
      limits(manifest, of.limits.read_limits()),
      shape(ShapeOf(manifest)) {
  Summarize();
}

RecordLayout DatasetFacts::LayoutIn(const Schema& fields, std::uint32_t source) const {
  RecordLayout rows(source == 0 ? stored : manifest.columns[source - 1].schema, fields);
  for (std::size_t f = 0; f < fields.fields.size(); ++f) {
    const std::size_t own = manifest.schema.Find(fields.fields[f].name);
    // A field that a column replaced stays in its shards, but is not read from them.
    const bool here = own != Schema::kNone && (sources.empty() ? 0 : sources[own]) == source;
    if (!here) rows.Drop(f);
  }
  return rows;
}

DatasetFacts::DatasetFacts(std::shared_ptr<SampleSupply> samples, const ReadLimits& read_limits)
    : folder(samples->place()),
      path(folder),
      place(folder),
      supply(std::move(samples)),
      id(ToHex(supply->id())),
      stored(supply->manifest().schema),
      manifest(supply->manifest()),
      layout(manifest.schema),
      limits(manifest, read_limits),
      shape(ShapeOf(manifest)) {
  Summarize();
}

DatasetShape DatasetFacts::ShapeOf(const Manifest& manifest) {
  std::vector<DatasetShape::Shard> shards;
  shards.reserve(manifest.shards.size());
  for (const ManifestShard& shard : manifest.shards) {
    shards.push_back({shard.samples, shard.blocks, shard.block_samples, shard.bytes});
  }
  return DatasetShape(std::move(shards));
}

void DatasetFacts::Summarize() {
  for (const ManifestShard& shard : manifest.shards)
    shards.push_back({shard.file, shard.samples, shard.blocks, shard.bytes, shard.block_samples});
  images = ImagesOfManifest(manifest);
}

const MixedDataset& DatasetFacts::PartWith(std::uint32_t shard) const noexcept {
  // The last part that begins at or before the shard.
  return *std::prev(std::upper_bound(
      parts.begin(), parts.end(), shard,
      [](std::uint32_t number, const MixedDataset& part) { return number < part.first_shard; }));
}

std::string DatasetFacts::ShardsDigest() const {
  return supply != nullptr ? id : DigestOf(manifest.shards);
}

std::string DatasetFacts::SourceDigest(const std::string& field) const {
  const std::size_t at = manifest.schema.Find(field);
  if (parts.empty())
    return at != Schema::kNone && InColumn(at) ? columns[sources[at] - 1].facts->id : "";
  std::string all;
  bool any = false;
  for (const MixedDataset& part : parts) {
    const std::string own = part.dataset->facts->SourceDigest(field);
    any = any || !own.empty();
    all += own + " ";
  }
  return any ? ToHex(Hash128(AsBytes(all))) : "";
}

void DatasetFacts::RequireThere(std::uint64_t sample) const {
  if (!Deleted(sample)) return;
  throw Error(ErrorCode::kInvalidArgument, folder.string(),
              "sample " + std::to_string(sample) + " was deleted (`sluice delete`)");
}

bool DatasetFacts::one_layout() const noexcept {
  return std::ranges::all_of(parts,
                             [this](const MixedDataset& part) { return part.layout == layout; });
}

const DatasetFacts* DatasetFacts::LacksField(std::size_t field) const noexcept {
  for (const MixedDataset& part : parts)
    if (!part.has(field)) return part.dataset->facts.get();
  return nullptr;
}

std::size_t DatasetFacts::FieldIndex(std::string_view name) const {
  const std::size_t field = manifest.schema.Find(name);
  if (field != Schema::kNone) return field;
  std::vector<std::string> names;
  for (const Field& other : manifest.schema.fields)
    names.push_back(other.name);
  throw Error(ErrorCode::kInvalidArgument, folder.string(),
              "has no field \"" + std::string(name) + "\"" + NamesInstead(name, names, "it has"));
}

std::size_t DatasetFacts::ImageField(std::string_view name) const {
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

const ImageSummary& DatasetFacts::ImagesOf(std::size_t field) const {
  std::size_t before = 0;
  for (std::size_t f = 0; f < field; ++f) {
    before += manifest.schema.fields[f].kind == FieldKind::kImage ? 1 : 0;
  }
  return images[before];
}

std::uint64_t DatasetFacts::RawImageBytes(std::size_t field) const {
  if (field == Schema::kNone) return 0;
  const ImageSummary& summary = ImagesOf(field);
  const std::uint64_t bytes = std::uint64_t{summary.max_width} * summary.max_height *
                              summary.max_channels * SizeOf(summary.pixel_type);
  // If sizes are equal and the sum of the payloads is that of raw pixels, each payload is raw.
  return summary.uniform() && summary.payload_bytes == summary.present * bytes ? bytes : 0;
}

}  // namespace sluice
