// Shards are mapped. A page that cannot be read becomes zeros, which look like damage: so the
// functions that read one hold a ReadGuard meanwhile, and ask Lost() before they report what a
// check has found. Otherwise a failing disk would pass for a corrupt dataset.
// `store` also is set for a folder whose files cannot be mapped (StoreIfUnmappable()), so it does
// not mean that the user gave a URL. The stop request is connected before the manifest is read, so
// that it ends this read, too.
#include "writer/edit/stored_dataset.h"

#include <algorithm>
#include <cstring>

#include <sluice/error.h>
#include <sluice/nearest_name.h>

#include "format/disk/limits.h"
#include "format/disk/shard_look.h"
#include "format/remote/local_store.h"
#include "format/remote/remote_manifest.h"
#include "writer/source/list/source_list.h"
#include "writer/text.h"

namespace sluice {

StoredDataset::StoredDataset(const ManifestPlace& place, const std::stop_token& stop)
    : folder(place.folder),
      manifest_name(place.name),
      store(IsStoreUrl(folder.string()) ? OpenStore(folder.string()) : StoreIfUnmappable(folder)) {
  if (store != nullptr) {
    on_stop = std::make_shared<std::stop_callback<std::function<void()>>>(
        stop, [store = store] { store->StopCalls(); });
  }
  if (store != nullptr) folder = store->url();  // the URL without anything secret
  manifest =
      store != nullptr ? ReadManifest(*store, id, manifest_name) : ReadManifest(place.path(), id);
  if (store != nullptr) remote = RemoteShards::Open(store, manifest, {});
}

StoredDataset StoredDataset::Column(std::size_t column) const {
  StoredDataset of = *this;
  of.manifest = manifest.columns[column];
  if (store != nullptr) of.remote = RemoteShards::Open(store, of.manifest, {});
  return of;
}

void StoredDataset::ForEachFile(
    const std::function<void(const std::string& name, std::uint64_t bytes)>& visit) const {
  if (in_store()) {
    store->ListFolder("", [&visit](std::string_view name, const ObjectInfo& info) {
      visit(std::string(name), info.bytes);
    });
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code error;
    const std::uintmax_t bytes = entry.file_size(error);
    if (!error) visit(entry.path().filename().string(), bytes);
  }
}

std::vector<std::byte> StoredDataset::ReadText(const std::string& name, ObjectInfo* info) const {
  if (in_store()) return store->Get(name, kMaxManifestBytes, info);
  std::vector<std::byte> text;
  ReadFile(folder / name, kMaxManifestBytes, text);
  return text;
}

LivingSamples::LivingSamples(const Manifest& manifest)
    : size_(manifest.samples), deleted_(manifest.deleted) {
  std::uint64_t gone = 0;
  for (const DeletedRun& run : deleted_) {
    living_before_.push_back(run.first - gone);
    gone += run.count;
  }
  size_ -= gone;
}

std::uint64_t LivingSamples::operator[](std::uint64_t i) const noexcept {
  const auto run = std::ranges::upper_bound(living_before_, i) - living_before_.begin();
  if (run == 0) return i;
  const auto before = static_cast<std::size_t>(run - 1);
  return deleted_[before].end() + (i - living_before_[before]);
}

std::uint64_t LivingSamples::CountBefore(std::uint64_t sample) const noexcept {
  const auto run = std::ranges::upper_bound(deleted_, sample, {}, &DeletedRun::first);
  if (run == deleted_.begin()) return sample;
  const auto before = static_cast<std::size_t>(run - deleted_.begin() - 1);
  return living_before_[before] + (sample - std::min(sample, deleted_[before].end()));
}

void RequireAllShards(const StoredDataset& dataset, const std::stop_token& stop) {
  RequireShards(dataset, stop);
  for (std::size_t c = 0; c < dataset.manifest.columns.size(); ++c)
    RequireShards(dataset.Column(c), stop);
}

void ForEachKey(const StoredDataset& dataset,
                const std::function<void(std::string_view key)>& visit) {
  for (std::size_t s = 0; s < dataset.manifest.shards.size(); ++s) {
    const ShardFile shard = dataset.Open(s);
    KeyChunk keys;
    for (std::uint64_t i = 0; i < shard.samples(); ++i)
      visit(KeyOf(shard, i, keys));
  }
}

std::string KeyOfSample(const StoredDataset& dataset, std::uint64_t sample) {
  for (std::size_t s = 0; s < dataset.manifest.shards.size(); ++s) {
    const std::uint64_t samples = dataset.manifest.shards[s].samples;
    if (sample < samples) return ToUtf8(dataset.Open(s).Key(sample));
    sample -= samples;
  }
  return {};
}

VisibleRows::VisibleRows(const StoredDataset& dataset, const std::vector<std::string>& fields,
                         std::size_t max_open)
    : max_open_(max_open) {
  const VisibleFields visible = VisibleFields::Of(dataset.manifest);
  std::vector<std::uint32_t> sources;
  std::vector<std::string> names;
  for (const Field& field : visible.schema.fields)
    names.push_back(field.name);
  if (fields.empty()) schema_.unknown = visible.schema.unknown;
  for (const std::string& name : fields.empty() ? names : fields) {
    const std::size_t field = visible.schema.Find(name);
    if (field == Schema::kNone) {
      throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
                  "has no field \"" + name + "\"" + NamesInstead(name, names, "it has"));
    }
    schema_.fields.push_back(visible.schema.fields[field]);
    sources.push_back(visible.sources[field]);
  }
  if (RecordLayout(schema_).record_bytes() > kMaxRecordBytes) {
    throw Error(
        ErrorCode::kLimit, dataset.folder.string(),
        "has fields that lie in columns and do not fit the 65536 bytes of one row; take some "
        "of them away first (`sluice column drop`)");
  }
  for (std::uint32_t s = 0; s <= dataset.manifest.columns.size(); ++s) {
    Schema own;
    std::vector<std::size_t> targets;
    for (std::size_t f = 0; f < sources.size(); ++f) {
      if (sources[f] != s) continue;
      own.fields.push_back(schema_.fields[f]);
      targets.push_back(f);
    }
    if (targets.empty()) continue;
    std::shared_ptr<const StoredDataset> rows(std::shared_ptr<void>(), &dataset);
    if (s > 0) rows = std::make_shared<const StoredDataset>(dataset.Column(s - 1));
    std::vector<std::uint64_t> ends;
    for (const ManifestShard& shard : rows->manifest.shards)
      ends.push_back((ends.empty() ? 0 : ends.back()) + shard.samples);
    RecordLayout layout(rows->manifest.schema, own);
    const std::size_t shards = ends.size();
    sources_.push_back({std::move(rows),
                        std::move(own),
                        std::move(layout),
                        std::move(targets),
                        std::move(ends),
                        std::vector<std::shared_ptr<const ShardFile>>(shards),
                        {}});
  }
}

const ShardFile& VisibleRows::Source::File(std::size_t shard, std::size_t max_open) {
  if (files[shard] != nullptr) return *files[shard];
  if (open.size() == max_open) {
    files[open.front()].reset();
    open.pop_front();
  }
  files[shard].reset(new ShardFile(dataset->Open(shard)));
  open.push_back(shard);
  return *files[shard];
}

EncodedSample VisibleRows::Values(std::uint64_t sample) {
  EncodedSample values;
  values.fields.resize(schema_.fields.size());
  for (Source& source : sources_) {
    const auto shard = static_cast<std::size_t>(std::ranges::upper_bound(source.ends, sample) -
                                                source.ends.begin());
    const ShardFile& file = source.File(shard, max_open_);
    const std::uint64_t index = sample - (shard == 0 ? 0 : source.ends[shard - 1]);
    const ReadGuard guard = file.Guard();
    const BlockView block = file.Block(static_cast<std::uint32_t>(index / file.block_samples()));
    EncodedSample own;
    const Defect defect = CopyRecord(source.fields, source.layout, block,
                                     static_cast<std::uint32_t>(index % file.block_samples()), own);
    if (file.Lost(file.bytes())) throw file.Unreadable(file.Place(index));
    if (defect != nullptr) throw Error(ErrorCode::kCorrupt, file.name(), file.Place(index), defect);
    for (std::size_t f = 0; f < source.targets.size(); ++f)
      values.fields[source.targets[f]] = std::move(own.fields[f]);
  }
  return values;
}

ShardFile StoredDataset::Open(std::size_t shard) const {
  const ManifestShard& entry = manifest.shards[shard];
  if (remote != nullptr) {
    return ShardFile(remote->PartsOf(static_cast<std::uint32_t>(shard)),
                     std::make_shared<const ShardSchema>(manifest.schema), entry);
  }
  return ShardFile(folder / entry.file, manifest.schema, ShardExpectation::Of(entry));
}

void RequireShards(const StoredDataset& dataset, const std::stop_token& stop) {
  const ShardsLook look = dataset.store != nullptr
                              ? LookAtShards(*dataset.store, dataset.manifest, stop)
                              : LookAtShards(dataset.folder, dataset.manifest, stop);
  if (look.errors.empty() || stop.stop_requested()) return;
  const Error& first = look.errors.front();
  std::string sentence = first.sentence();
  if (look.shards > 1) {
    sentence += "; " + std::to_string(look.shards) + " of the dataset's " +
                std::to_string(look.faulty.size()) + " shards are missing or damaged";
  }
  throw Error(first.code(), first.file(), first.place(),
              sentence + "; `sluice repair` saves what is left");
}

namespace {

Defect CheckPayloads(const ShardFile& shard, const BlockView& block, std::uint32_t row) {
  for (std::size_t f = 0; f < shard.schema().fields.size(); ++f) {
    if (shard.schema().fields[f].kind == FieldKind::kArray) continue;
    BlockView::Payload payload;
    if (const Defect defect = block.GetPayload(shard.layout(), row, f, payload)) return defect;
    if (static_cast<Codec>(payload.entry.codec) != Codec::kAbsent &&
        !block.Matches(payload.bytes, payload.entry.checksum)) {
      return "the payload's checksum does not match";
    }
  }
  return nullptr;
}

// Whether the directory's columns equal the scalars in a block's rows, as the format requires.
bool ColumnsAgree(const ShardFile& shard, std::uint32_t number, const BlockView& block) {
  const std::vector<std::size_t> fields = ColumnFields(shard.schema());
  const std::uint64_t first = std::uint64_t{number} * shard.block_samples();
  for (std::size_t c = 0; c < fields.size(); ++c) {
    const std::size_t size = SizeOf(shard.schema().fields[fields[c]].dtype);
    const Bytes column = shard.Column(c).subspan(first * size, block.count() * size);
    for (std::uint32_t row = 0; row < block.count(); ++row) {
      const Bytes in_record = block.Elements(shard.layout(), row, fields[c]);
      if (std::memcmp(in_record.data(), column.data() + row * size, size) != 0) return false;
    }
  }
  return true;
}

}  // namespace

void RequireWhole(const ShardFile& shard, const std::stop_token& stop) {
  const auto require = [&shard](const std::string& place, Defect defect) {
    if (defect == nullptr) return;
    if (shard.Lost(shard.bytes())) throw shard.Unreadable(place);
    throw Error(ErrorCode::kCorrupt, shard.name(), place,
                std::string(defect) + "; `sluice verify` lists all damage");
  };
  const ReadGuard guard = shard.Guard();
  for (const SectionEntry& section : shard.sections())
    shard.Section(section.number);
  KeyChunk keys;
  for (std::uint64_t i = 0; i < shard.samples(); i += std::max<std::uint64_t>(1, keys.count))
    KeyOf(shard, i, keys);
  for (std::uint32_t b = 0; b < shard.blocks(); ++b) {
    if (stop.stop_requested()) ThrowStopped();
    const BlockView block = shard.Block(b);
    for (std::uint32_t row = 0; row < block.count(); ++row) {
      if (const Defect defect = CheckPayloads(shard, block, row)) {
        const std::uint64_t sample = std::uint64_t{b} * shard.block_samples() + row;
        require(shard.Place(sample) + " (" + ToUtf8(shard.Key(sample)) + ")", defect);
      }
    }
    const std::string place = "block " + std::to_string(b);
    require(place, block.VerifyPlacement(shard.schema(), shard.layout()));
    if (!ColumnsAgree(shard, b, block))
      require(place, "its rows differ from the directory's columns");
  }
  require({}, shard.VerifyPlacement());
  if (shard.Lost(shard.bytes()) || shard.CutOff(shard.bytes())) throw shard.Unreadable({});
}

Defect CopyRecord(const Schema& schema, const RecordLayout& layout, const BlockView& block,
                  std::uint32_t row, EncodedSample& sample) {
  sample.fields.assign(schema.fields.size(), FieldValue{});
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    FieldValue& value = sample.fields[f];
    if (schema.fields[f].kind == FieldKind::kArray) {
      value.SetBytes(block.Elements(layout, row, f));
      continue;
    }
    BlockView::Payload payload;
    if (const Defect defect = block.GetPayload(layout, row, f, payload)) return defect;
    value.codec = static_cast<Codec>(payload.entry.codec);
    if (value.codec == Codec::kAbsent) continue;
    if (payload.entry.flags != 0) return "a value has flags that this version does not know";
    if (!block.Matches(payload.bytes, payload.entry.checksum)) {
      return "the payload's checksum does not match";
    }
    value.SetBytes(payload.bytes);
    if (schema.fields[f].kind != FieldKind::kImage) continue;
    ImagePayload image;
    std::uint64_t checksum = 0;
    if (const Defect defect = block.GetImage(layout, row, f, image, checksum)) return defect;
    value.SetSize(image.width, image.height, image.channels);
    value.pixel_type = image.pixel_type;
  }
  return nullptr;
}

EncodedSample CopySample(const ShardFile& shard, std::uint64_t index) {
  KeyChunk keys;
  return CopySample(shard, index, keys);
}

EncodedSample CopySample(const ShardFile& shard, std::uint64_t index, KeyChunk& keys) {
  EncodedSample sample = CopyValues(shard, index);
  sample.key = KeyOf(shard, index, keys);
  return sample;
}

EncodedSample CopyValues(const ShardFile& shard, std::uint64_t index) {
  const ReadGuard guard = shard.Guard();
  const BlockView block = shard.Block(static_cast<std::uint32_t>(index / shard.block_samples()));
  EncodedSample sample;
  const auto row = static_cast<std::uint32_t>(index % shard.block_samples());
  const Defect defect = CopyRecord(shard.schema(), shard.layout(), block, row, sample);
  if (shard.Lost(shard.bytes())) throw shard.Unreadable(shard.Place(index));
  if (defect != nullptr) throw Error(ErrorCode::kCorrupt, shard.name(), shard.Place(index), defect);
  return sample;
}

std::string_view KeyOf(const ShardFile& shard, std::uint64_t index, KeyChunk& keys) {
  if (!keys.Holds(index)) {
    const ReadGuard guard = shard.Guard();
    const Defect defect = ReadKeyChunk(shard.Section(kSectionKeys), shard.samples(), index, keys);
    if (shard.Lost(shard.bytes())) throw shard.Unreadable("keys");
    if (defect != nullptr) throw Error(ErrorCode::kCorrupt, shard.name(), "keys", defect);
  }
  return keys.Key(index);
}

Error AtSample(const Error& error, const ShardFile& shard, std::uint64_t index) {
  return {error.code(), shard.name(), shard.Place(index),
          "sample \"" + ToUtf8(shard.Key(index)) + "\": " + error.sentence()};
}

}  // namespace sluice
