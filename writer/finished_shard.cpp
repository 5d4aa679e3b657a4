#include "writer/finished_shard.h"

#include <sluice/error.h>

#include "format/disk/manifest.h"

namespace sluice {

FinishedShard EmptyTotals(const Schema& schema) {
  FinishedShard totals;
  for (const Field& field : schema.fields) {
    if (field.kind == FieldKind::kImage) totals.images.emplace_back();
  }
  totals.values = NoValues(schema);
  const std::size_t classes = schema.ClassField();
  if (classes != Schema::kNone) totals.class_counts.resize(schema.fields[classes].classes.size());
  return totals;
}

void CountClass(const Field& field, Bytes element, FinishedShard& finished) noexcept {
  const std::int64_t number = ClassNumber(field, element);
  if (IsClass(field, number)) ++finished.class_counts[static_cast<std::size_t>(number)];
}

FinishedShard SurveyShard(const ShardFile& shard, const std::string& file_name) {
  const Schema& schema = shard.schema();
  FinishedShard finished = EmptyTotals(schema);
  finished.shard = {file_name,           shard.id(),     shard.digest(),
                    shard.samples(),     shard.blocks(), shard.block_samples(),
                    shard.bytes().size()};
  const std::size_t class_field = schema.ClassField();
  const ReadGuard guard = shard.Guard();
  for (std::uint32_t b = 0; b < shard.blocks(); ++b) {
    const BlockView block = shard.Block(b);
    if (const Defect defect = AddValues(block, shard.layout(), schema, finished.values)) {
      throw Error(ErrorCode::kCorrupt, shard.name(), "block " + std::to_string(b), defect);
    }
    for (std::uint32_t row = 0; row < block.count(); ++row) {
      std::size_t image_field = 0;
      for (std::size_t f = 0; f < schema.fields.size(); ++f) {
        if (f == class_field) {
          CountClass(schema.fields[f], block.Elements(shard.layout(), row, f), finished);
        }
        if (schema.fields[f].kind != FieldKind::kImage) continue;
        ImagePayload image;
        std::uint64_t checksum = 0;
        if (const Defect defect = block.GetImage(shard.layout(), row, f, image, checksum)) {
          throw Error(ErrorCode::kCorrupt, shard.name(), "block " + std::to_string(b), defect);
        }
        ManifestImages& images = finished.images[image_field++];
        if (image.codec == Codec::kAbsent) continue;
        images.Add(image.width, image.height, image.channels,
                   static_cast<std::uint32_t>(image.pixel_type), image.bytes.size());
      }
    }
  }
  if (shard.Lost(shard.bytes())) throw shard.Unreadable({});
  return finished;
}

}  // namespace sluice
