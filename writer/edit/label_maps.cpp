#include "writer/edit/label_maps.h"

#include <algorithm>
#include <cstring>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/zstd.h"

namespace sluice {

namespace {

bool HasNumberedClasses(const Field& field) {
  return field.role == Role::kLabel && !field.classes.empty() &&
         (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) &&
         field.dtype != DType::kFloat32 && field.dtype != DType::kFloat64;
}

template <class T>
void MapAs(const std::vector<std::int64_t>& map, std::span<std::byte> elements) {
  for (std::size_t at = 0; at + sizeof(T) <= elements.size(); at += sizeof(T)) {
    T number{};
    std::memcpy(&number, elements.data() + at, sizeof number);
    if (number < 0 || static_cast<std::uint64_t>(number) >= map.size()) continue;
    const std::int64_t mapped = map[static_cast<std::size_t>(number)];
    number = static_cast<T>(mapped);
    if (static_cast<std::int64_t>(number) != mapped) {
      throw Error(ErrorCode::kUnsupported, "the merged classes do not fit the label's type");
    }
    std::memcpy(elements.data() + at, &number, sizeof number);
  }
}

void MapElements(DType type, const std::vector<std::int64_t>& map, std::span<std::byte> elements) {
  switch (type) {
    case DType::kInt8: return MapAs<std::int8_t>(map, elements);
    case DType::kInt16: return MapAs<std::int16_t>(map, elements);
    case DType::kInt32: return MapAs<std::int32_t>(map, elements);
    case DType::kInt64: return MapAs<std::int64_t>(map, elements);
    case DType::kUint8: return MapAs<std::uint8_t>(map, elements);
    case DType::kUint16: return MapAs<std::uint16_t>(map, elements);
    case DType::kFloat32:
    case DType::kFloat64: break;  // these have no map
  }
}

}  // namespace

LabelMaps ReconcileClasses(const Schema& other, const std::string& name, Schema& merged) {
  const auto refuse = [&name](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, name,
                "cannot be merged with the datasets before it: " + what);
  };
  if (other.fields.size() != merged.fields.size()) refuse("it has another number of fields");
  LabelMaps maps(other.fields.size());
  for (std::size_t f = 0; f < other.fields.size(); ++f) {
    const Field& theirs = other.fields[f];
    Field& ours = merged.fields[f];
    Field same = theirs;
    const bool mapped = HasNumberedClasses(theirs) && HasNumberedClasses(ours);
    if (mapped) same.classes = ours.classes;
    if (same != ours) {
      refuse("field " + std::to_string(f) + " (\"" + ours.name + "\" there, \"" + theirs.name +
             "\" here) differs");
    }
    if (!mapped) continue;
    bool identity = true;
    for (std::size_t c = 0; c < theirs.classes.size(); ++c) {
      auto found = std::find(ours.classes.begin(), ours.classes.end(), theirs.classes[c]);
      if (found == ours.classes.end()) {
        found = ours.classes.insert(ours.classes.end(), theirs.classes[c]);
      }
      maps[f].push_back(found - ours.classes.begin());
      identity = identity && maps[f].back() == static_cast<std::int64_t>(c);
    }
    if (identity) maps[f].clear();
  }
  return maps;
}

void InflateLabels(FieldValue& value) {
  if (value.codec == Codec::kAbsent || value.codec == Codec::kRaw) return;
  const std::optional<std::uint64_t> size = ZstdContentBytes(value.bytes);
  if (value.codec != Codec::kZstd || !size || *size > kMaxPayloadBytes) {
    throw Error(ErrorCode::kUnsupported, "labels are stored by a codec that cannot be mapped");
  }
  std::vector<std::byte> content(*size);
  if (!ZstdDecompress(value.bytes, content)) {
    throw Error(ErrorCode::kCorrupt, "the zstd frame of a label cannot be decompressed");
  }
  value.bytes = std::move(content);
  value.codec = Codec::kRaw;
}

void MapLabels(const Schema& schema, const LabelMaps& maps, EncodedSample& sample) {
  for (std::size_t f = 0; f < maps.size(); ++f) {
    if (maps[f].empty()) continue;
    if (schema.fields[f].kind == FieldKind::kVariable) InflateLabels(sample.fields[f]);
    MapElements(schema.fields[f].dtype, maps[f], sample.fields[f].bytes);
  }
}

bool IsIdentity(const LabelMaps& maps) noexcept {
  return std::all_of(maps.begin(), maps.end(), [](const auto& map) { return map.empty(); });
}

}  // namespace sluice
