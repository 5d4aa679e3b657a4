#include "writer/edit/stored_dataset.h"

#include <sluice/error.h>

#include "format/disk/shard_look.h"
#include "format/remote/local_store.h"
#include "format/remote/remote_manifest.h"
#include "writer/text.h"

namespace sluice {

StoredDataset::StoredDataset(const std::filesystem::path& path, const std::stop_token& stop)
    : folder(path),
      store(IsStoreUrl(path.string()) ? OpenStore(path.string()) : StoreIfUnmappable(path)) {
  if (store != nullptr) {
    on_stop = std::make_shared<std::stop_callback<std::function<void()>>>(
        stop, [store = store] { store->StopCalls(); });
  }
  if (store != nullptr) folder = store->url();  // without what may be secret in it
  manifest = store != nullptr ? ReadManifest(*store, id) : ReadManifest(path, id);
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

Defect CopyRow(const Schema& schema, const RowLayout& layout, const BlockView& block,
               std::uint32_t row, EncodedSample& sample) {
  sample.fields.assign(schema.fields.size(), FieldValue{});
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    FieldValue& value = sample.fields[f];
    if (schema.fields[f].kind == FieldKind::kArray) {
      const Bytes elements = block.Elements(layout, row, f);
      value.bytes.assign(elements.begin(), elements.end());
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
    value.bytes.assign(payload.bytes.begin(), payload.bytes.end());
    if (schema.fields[f].kind != FieldKind::kImage) continue;
    ImagePayload image;
    std::uint64_t checksum = 0;
    if (const Defect defect = block.GetImage(layout, row, f, image, checksum)) return defect;
    value.width = image.width;
    value.height = image.height;
    value.channels = image.channels;
    value.pixel_type = image.pixel_type;
  }
  return nullptr;
}

EncodedSample CopySample(const ShardFile& shard, std::uint64_t index) {
  KeyChunk keys;
  return CopySample(shard, index, keys);
}

EncodedSample CopySample(const ShardFile& shard, std::uint64_t index, KeyChunk& keys) {
  const ReadGuard guard = shard.Guard();
  const BlockView block = shard.Block(static_cast<std::uint32_t>(index / shard.block_samples()));
  EncodedSample sample;
  const auto row = static_cast<std::uint32_t>(index % shard.block_samples());
  const Defect defect = CopyRow(shard.schema(), shard.layout(), block, row, sample);
  if (shard.Lost(shard.bytes())) throw shard.Unreadable(shard.Place(index));
  if (defect != nullptr) throw Error(ErrorCode::kCorrupt, shard.name(), shard.Place(index), defect);
  sample.key = KeyOf(shard, index, keys);
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
