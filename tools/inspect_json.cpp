#include <nlohmann/json.hpp>

#include <sluice/version.h>

#include "tools/cli/output.h"
#include "tools/inspect_report.h"
#include "tools/inspect_sample.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Json FieldJson(const Field& field) {
  Json json{{"name", field.name}, {"kind", NameOf(field.kind)}, {"role", NameOf(field.role)}};
  if (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) {
    json["dtype"] = NameOf(field.dtype);
    json["shape"] = field.shape;
  }
  if (!field.follows.empty()) json["follows"] = field.follows;
  if (!field.coordinates.empty()) json["coordinates"] = field.coordinates;
  if (!field.classes.empty()) json["classes"] = field.classes;
  if (!field.attributes.empty()) json["attributes"] = field.attributes;
  return json;
}

Json ImageSummaryJson(const ImageSummary& images) {
  return {{"field", images.field},
          {"present", images.present},
          {"min_width", images.min_width},
          {"max_width", images.max_width},
          {"min_height", images.min_height},
          {"max_height", images.max_height},
          {"min_channels", images.min_channels},
          {"max_channels", images.max_channels},
          {"pixel_type", images.pixel_type == PixelType::kUint8 ? "uint8" : "uint16"},
          {"payload_bytes", images.payload_bytes},
          {"max_payload_bytes", images.max_payload_bytes}};
}

Json ClassesJson(const Dataset& dataset) {
  Json classes = Json::array();
  const std::size_t label = dataset.schema().ClassField();
  const auto& counts = dataset.class_counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    classes.push_back(
        {{"name", dataset.schema().fields[label].classes[i]}, {"samples", counts[i]}});
  }
  return classes;
}

Json ShardJson(const ShardSummary& shard) {
  return {{"file", shard.file},
          {"samples", shard.samples},
          {"blocks", shard.blocks},
          {"block_samples", shard.block_samples},
          {"bytes", shard.bytes}};
}

}  // namespace

void PrintInspectJson(const Dataset& dataset, bool with_shards,
                      std::optional<std::uint64_t> sample) {
  std::uint64_t bytes = 0;
  for (const ShardSummary& shard : dataset.shards())
    bytes += shard.bytes;
  Json fields = Json::array();
  for (const Field& field : dataset.schema().fields)
    fields.push_back(FieldJson(field));
  Json images = Json::array();
  for (const ImageSummary& one : dataset.images())
    images.push_back(ImageSummaryJson(one));

  Json json{{"path", dataset.path().string()},
            {"name", dataset.name()},
            {"id", dataset.id()},
            {"format_version", kFormatVersion},
            {"samples", dataset.size()},
            {"shards", dataset.shards().size()},
            {"bytes", bytes},
            {"fields", fields},
            {"images", images},
            {"classes", ClassesJson(dataset)},
            {"made_with", Json::parse(dataset.made_with(), nullptr, false)}};
  if (with_shards) {
    json["shard_list"] = Json::array();
    for (const ShardSummary& shard : dataset.shards()) {
      json["shard_list"].push_back(ShardJson(shard));
    }
  }
  if (sample) json["sample"] = SampleJson(dataset, *sample);
  cli::PrintJson(json);
}

}  // namespace sluice
