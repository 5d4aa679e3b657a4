#include "writer/edit/label_maps.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/row_layout.h"
#include "format/disk/zstd.h"

namespace sluice {

namespace {

bool HasNumberedClasses(const Field& field) {
  return field.role == Role::kLabel && !field.classes.empty() &&
         (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) &&
         IsInteger(field.dtype);
}

// One label field: its own classes, the merged ones, and the way from one to the other.
struct FieldMap {
  const Field& own;
  const Field& merged;
  const std::vector<std::int64_t>& map;  // empty: numbers stay

  std::int64_t operator()(std::int64_t number) const {
    if (IsClass(own, number)) return map.empty() ? number : map[static_cast<std::size_t>(number)];
    if (!IsClass(merged, number)) return number;
    throw Error(ErrorCode::kCorrupt,
                "field \"" + own.name + "\" holds " + std::to_string(number) +
                    ", which is none of its " + std::to_string(own.classes.size()) +
                    " classes and would become the merged class " + std::to_string(number) + " (" +
                    merged.classes[static_cast<std::size_t>(number)] +
                    "); `sluice verify` names such samples: make a subset without them first");
  }
};

template <class T>
void MapAs(const FieldMap& map, std::span<std::byte> elements) {
  for (std::size_t at = 0; at + sizeof(T) <= elements.size(); at += sizeof(T)) {
    const std::int64_t mapped = map(ClassNumber(map.own, elements.subspan(at, sizeof(T))));
    const auto number = static_cast<T>(mapped);
    if (static_cast<std::int64_t>(number) != mapped) {
      throw Error(ErrorCode::kUnsupported, "the merged classes do not fit the label's type");
    }
    std::memcpy(elements.data() + at, &number, sizeof number);
  }
}

void MapElements(const FieldMap& map, std::span<std::byte> elements) {
  switch (map.own.dtype) {
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
                "cannot be merged with the earlier datasets: " + what);
  };
  if (other.fields.size() != merged.fields.size()) refuse("its number of fields differs");
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
    std::unordered_map<std::string, std::int64_t>
        numbers;  // of a name that is there twice, the first
    for (std::size_t c = 0; c < ours.classes.size(); ++c)
      numbers.emplace(ours.classes[c], c);
    bool identity = true;
    for (std::size_t c = 0; c < theirs.classes.size(); ++c) {
      const auto [found, is_new] = numbers.emplace(theirs.classes[c], ours.classes.size());
      if (is_new) ours.classes.push_back(theirs.classes[c]);
      maps[f].push_back(found->second);
      identity = identity && found->second == static_cast<std::int64_t>(c);
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

void MapLabels(const Schema& own, const Schema& merged, const LabelMaps& maps,
               EncodedSample& sample) {
  for (std::size_t f = 0; f < maps.size(); ++f) {
    if (maps[f].empty() && own.fields[f] == merged.fields[f]) continue;
    const FieldMap map{own.fields[f], merged.fields[f], maps[f]};
    FieldValue& value = sample.fields[f];
    if (!map.map.empty()) {
      InflateLabels(value);
      MapElements(map, value.bytes);
    } else {  // looked at only: what is stored stays as it is
      FieldValue copy = value;
      InflateLabels(copy);
      MapElements(map, copy.bytes);
    }
  }
}

bool IsIdentity(const LabelMaps& maps) noexcept {
  return std::all_of(maps.begin(), maps.end(), [](const auto& map) { return map.empty(); });
}

}  // namespace sluice
