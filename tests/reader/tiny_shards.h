// Datasets of very many shards. A DatasetWriter would make each of them a megabyte.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/format/built_shard.h"

namespace sluice::test {

// Writes `count` shards of two samples each, three pages per shard, without syncing to disk.
inline void WriteTinyShards(const std::filesystem::path& folder, std::size_t count) {
  const Schema schema{{Field::Image(), Field::Label("label", {"a", "b"})}};
  std::filesystem::create_directories(folder);
  Manifest manifest;
  manifest.name = "tiny";
  manifest.schema = schema;
  manifest.samples = 2 * count;
  manifest.class_counts = {count, count};
  ImageFigures images;
  for (std::size_t s = 0; s < count; ++s) {
    std::vector<EncodedSample> samples(2);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::size_t number = 2 * s + i;
      samples[i].key = "key-" + std::to_string(number);
      samples[i].fields = {ImageValue(4, 4, 3, std::string(48, static_cast<char>(number % 251))),
                           ArrayValue<std::int32_t>({static_cast<std::int32_t>(i)})};
      images.Add(FiguresOf(4, 4, 3, PixelType::kUint8, 48));
    }
    Id128 id;
    std::memcpy(static_cast<void*>(&id), &s, sizeof(s));
    const BuiltShard shard = BuildShard(schema, id, 2, samples);
    char name[48];
    std::snprintf(name, sizeof(name), "shard-%07zu.sluice", s);
    manifest.shards.push_back(shard.entry);
    manifest.shards.back().file = name;
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(shard.bytes.data()),
               static_cast<std::streamsize>(shard.bytes.size()));
  }
  manifest.images = {images};
  Id128 id;
  std::ofstream(folder / kManifestName, std::ios::binary) << ManifestToJson(manifest, id);
}

}  // namespace sluice::test
