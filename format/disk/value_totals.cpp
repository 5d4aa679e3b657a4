#include "format/disk/value_totals.h"

#include "format/disk/limits.h"
#include "format/disk/zstd.h"

namespace sluice {

std::vector<ManifestValues> NoValues(const Schema& schema) {
  std::vector<ManifestValues> values;
  for (const Field& field : schema.fields)
    if (HasValues(field)) values.emplace_back();
  return values;
}

void AddValue(Codec codec, Bytes payload, ManifestValues& values) noexcept {
  if (codec == Codec::kAbsent) return;
  std::uint64_t bytes = payload.size();
  if (codec == Codec::kZstd) {
    bytes = ZstdContentBytes(payload).value_or(0);
    if (bytes > kMaxInflatedBytes) bytes = 0;
  }
  values.Add({1, bytes, bytes});
}

Defect AddValues(const BlockView& block, const RowLayout& layout, const Schema& schema,
                 std::vector<ManifestValues>& values) noexcept {
  Defect first = nullptr;
  for (std::uint32_t row = 0; row < block.count(); ++row) {
    std::size_t value_field = 0;
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      if (!HasValues(schema.fields[f])) continue;
      BlockView::Payload payload;
      const Defect defect = block.GetPayload(layout, row, f, payload);
      if (first == nullptr) first = defect;
      ManifestValues& value = values[value_field++];
      if (defect != nullptr) continue;
      AddValue(static_cast<Codec>(payload.entry.codec), payload.bytes, value);
    }
  }
  return first;
}

}  // namespace sluice
