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
  if (store != nullptr) remote = RemoteShards::Open(store, manifest, ToHex(id), {});
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
