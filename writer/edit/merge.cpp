#include <algorithm>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/schema_json.h"
#include "writer/convert/options.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/label_maps.h"

namespace sluice {

namespace {

// Of a shard that is written anew with other classes.
Id128 MergedId(Id128 id, const Schema& schema) {
  const std::string text = SchemaToJson(schema);
  return Hash128({std::as_bytes(std::span(id.bytes)), AsBytes(text)});
}

// The first one's options, where the images of all were made alike; else null.
nlohmann::json CommonOptions(const std::vector<StoredDataset>& datasets) {
  const auto of_images = [](const StoredDataset& dataset) {
    nlohmann::json options = OptionsOfMade(dataset.manifest.made);
    for (const char* other : {"seed", "keep_order", "shard_bytes", "block_samples", "max_pixels"}) {
      if (options.is_object()) options.erase(other);
    }
    return options;
  };
  const nlohmann::json first = of_images(datasets[0]);
  const bool alike =
      std::all_of(datasets.begin(), datasets.end(),
                  [&](const StoredDataset& dataset) { return of_images(dataset) == first; });
  return alike ? OptionsOfMade(datasets[0].manifest.made) : nlohmann::json();
}

}  // namespace

EditSummary MergeDatasets(const std::vector<std::filesystem::path>& inputs,
                          const std::filesystem::path& out, const EditHooks& hooks) {
  if (inputs.empty()) throw Error(ErrorCode::kInvalidArgument, "no dataset was named to be merged");
  std::vector<StoredDataset> datasets;
  std::vector<LabelMaps> maps;
  std::vector<Id128> ids;
  Schema schema;
  std::uint64_t total = 0;
  for (const std::filesystem::path& input : inputs) {
    datasets.emplace_back(input);
    const StoredDataset& dataset = datasets.back();
    if (datasets.size() == 1) schema = dataset.manifest.schema;
    maps.push_back(ReconcileClasses(dataset.manifest.schema, input.string(), schema));
    ids.push_back(dataset.id);
    total += dataset.manifest.samples;
  }
  DatasetBuild build(out, datasets[0].manifest.name, schema, total, hooks);
  for (std::size_t d = 0; d < datasets.size(); ++d) {
    const StoredDataset& dataset = datasets[d];
    const bool same = dataset.manifest.schema == schema && IsIdentity(maps[d]);
    for (std::size_t s = 0; s < dataset.manifest.shards.size(); ++s) {
      const ShardFile shard = dataset.Open(s);
      if (same) {
        build.Link(dataset.folder / dataset.manifest.shards[s].file,
                   SurveyShard(shard, dataset.manifest.shards[s].file));
        continue;
      }
      build.BeginShard(MergedId(shard.id(), schema), shard.block_samples());
      KeyChunk keys;
      for (std::uint64_t i = 0; i < shard.samples(); ++i) {
        EncodedSample sample = CopySample(shard, i, keys);
        MapLabels(schema, maps[d], sample);
        build.Add(std::move(sample));
      }
      build.EndShard();
    }
  }
  return build.Finish(MadeByEdit("merge", ids, CommonOptions(datasets)));
}

}  // namespace sluice
