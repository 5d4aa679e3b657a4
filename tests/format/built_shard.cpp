#include "tests/format/built_shard.h"

#include <algorithm>
#include <cstdio>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/keys.h"
#include "format/disk/record_layout.h"
#include "format/disk/shard_build.h"

namespace sluice::test {

namespace {

void Append(std::vector<std::byte>& file, Bytes bytes) {
  file.insert(file.end(), bytes.begin(), bytes.end());
}

// Appends a section and the padding after it.
SectionEntry AppendSection(std::vector<std::byte>& file, std::uint32_t number, std::uint32_t flags,
                           Bytes content) {
  const SectionEntry entry{number, flags, file.size(), content.size(), Hash64(content)};
  Append(file, content);
  file.resize(AlignUp(file.size(), kPayloadAlignment));
  return entry;
}

}  // namespace

BuiltShard BuildShard(const Schema& schema, Id128 id, std::uint32_t block_samples,
                      std::span<const EncodedSample> samples, const ExtraSections& extra,
                      std::uint32_t extra_flags) {
  const RecordLayout layout(schema);
  std::vector<std::byte> file = BuildShardHeader(schema, id, block_samples);

  std::vector<BlockEntry> blocks;
  for (std::size_t first = 0; first < samples.size(); first += block_samples) {
    const auto part =
        samples.subspan(first, std::min<std::size_t>(block_samples, samples.size() - first));
    const auto number = static_cast<std::uint32_t>(blocks.size());
    const std::vector<std::byte> block = BuildBlock(schema, layout, id, number, first, part);
    blocks.push_back({file.size(), block.size(), static_cast<std::uint32_t>(part.size()), 0,
                      LoadAt<BlockHeader>(block, 0).header_checksum});
    Append(file, block);
  }

  KeysBuilder keys;
  for (const EncodedSample& sample : samples)
    keys.Add(sample.key);
  std::vector<SectionEntry> sections{AppendSection(file, kSectionKeys, 0, keys.Finish())};
  for (const auto& [number, content] : extra) {
    sections.push_back(AppendSection(file, number, extra_flags, AsBytes(content)));
  }

  std::vector<std::vector<std::byte>> columns;
  for (const std::size_t field : ColumnFields(schema)) {
    columns.emplace_back();
    for (const EncodedSample& sample : samples)
      Append(columns.back(), sample.fields[field].bytes);
  }
  BuiltShard shard;
  const auto header = LoadAt<ShardHeader>(file, 0);
  const std::vector<std::byte> end = BuildShardEnd(schema,
                                                   {.header = header,
                                                    .offset = file.size(),
                                                    .blocks = blocks,
                                                    .sections = sections,
                                                    .samples = samples.size(),
                                                    .columns = columns},
                                                   shard.entry.digest);
  Append(file, end);
  shard.entry.id = id;
  shard.entry.samples = samples.size();
  shard.entry.blocks = blocks.size();
  shard.entry.block_samples = block_samples;
  shard.entry.bytes = file.size();
  shard.bytes = std::move(file);
  return shard;
}

Manifest ManifestOf(const std::string& name, const Schema& schema,
                    std::span<const BuiltShard> shards, std::span<const EncodedSample> samples) {
  Manifest manifest;
  manifest.name = name;
  manifest.schema = schema;
  manifest.samples = samples.size();
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].kind != FieldKind::kImage) continue;
    ImageFigures images;
    for (const EncodedSample& sample : samples) {
      const FieldValue& value = sample.fields[f];
      if (value.codec == Codec::kAbsent) continue;
      images.Add(FiguresOf(value.width, value.height, value.channels, value.pixel_type,
                           value.bytes.size()));
    }
    manifest.images.push_back(images);
  }
  const std::size_t label = schema.ClassField();
  if (label != Schema::kNone) {
    manifest.class_counts.resize(schema.fields[label].classes.size());
    for (const EncodedSample& sample : samples) {
      const std::int64_t number = ClassNumber(schema.fields[label], sample.fields[label].bytes);
      if (IsClass(schema.fields[label], number))
        ++manifest.class_counts[static_cast<std::size_t>(number)];
    }
  }
  for (const BuiltShard& shard : shards) {
    char file[32];
    std::snprintf(file, sizeof(file), "shard-%05zu.sluice", manifest.shards.size());
    manifest.shards.push_back(shard.entry);
    manifest.shards.back().file = file;
  }
  return manifest;
}

void WriteDataset(const std::filesystem::path& folder, const Manifest& manifest,
                  std::span<const BuiltShard> shards) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    WriteFile(folder / manifest.shards[i].file, shards[i].bytes);
  }
  Id128 id;
  WriteFile(folder / kManifestName, AsBytes(ManifestToJson(manifest, id)));
}

FieldValue PayloadValue(std::string_view bytes, Codec codec) {
  FieldValue value;
  value.bytes.assign(AsBytes(bytes).begin(), AsBytes(bytes).end());
  value.codec = codec;
  return value;
}

FieldValue ImageValue(std::uint32_t width, std::uint32_t height, std::uint8_t channels,
                      std::string_view bytes, Codec codec, PixelType type) {
  FieldValue value = PayloadValue(bytes, codec);
  value.width = width;
  value.height = height;
  value.channels = channels;
  value.pixel_type = type;
  return value;
}

Id128 IdOf(std::uint8_t byte) {
  Id128 id;
  id.bytes.fill(byte);
  return id;
}

}  // namespace sluice::test
