#include "writer/convert/origin.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "format/disk/json.h"
#include "format/disk/limits.h"

namespace sluice {

using nlohmann::json;

void NotedPositions::Add(std::uint64_t position) {
  if (count++ < SomeImages::kExamples) first.push_back(position);
}

std::string OriginToJson(const Origin& origin) {
  json out = {{"shard", origin.shard}, {"part", origin.part}, {"last", origin.last}};
  if (origin.last) {
    out["left_out"] = origin.left_out;
    out["kept"] = origin.kept;
    out["bytes_in"] = origin.bytes_in;
    const auto count = [&out](const char* name, std::uint64_t value) {
      if (value > 0) out[name] = value;
    };
    count("boxes_dropped", origin.boxes_dropped);
    count("profiles_dropped", origin.profiles_dropped);
    count("profiles_converted", origin.profiles_converted);
    count("smaller", origin.smaller);
    const auto note = [&out](const char* name, const NotedPositions& noted) {
      if (noted.count > 0) out[name] = {noted.count, noted.first};
    };
    note("turned", origin.turned);
    note("dim", origin.dim);
    if (!origin.truncated.empty()) out["truncated"] = origin.truncated;
  }
  return out.dump();
}

namespace {

// Takes only a whole number that fits; others would be rounded or cut, or be undefined behaviour.
template <class T>
bool TakeNumber(const json& value, T& number) {
  if (!value.is_number_unsigned()) return false;
  if (value.get<std::uint64_t>() > std::numeric_limits<T>::max()) return false;
  number = value.get<T>();
  return true;
}

bool TakeReasons(const json& list, std::vector<std::pair<std::uint64_t, std::string>>& reasons) {
  if (!list.is_array()) return false;
  for (const json& one : list) {
    std::uint64_t position = 0;
    if (!one.is_array() || one.size() != 2 || !TakeNumber(one[0], position) ||
        !one[1].is_string()) {
      return false;
    }
    reasons.emplace_back(position, one[1].get<std::string>());
  }
  return true;
}

// Absent, or as OriginToJson() writes it.
bool TakeNoted(const json& pair, NotedPositions& noted) {
  if (pair.is_null()) return true;
  if (!pair.is_array() || pair.size() != 2 || !TakeNumber(pair[0], noted.count) ||
      !pair[1].is_array() ||
      pair[1].size() != std::min<std::uint64_t>(noted.count, SomeImages::kExamples)) {
    return false;
  }
  for (const json& position : pair[1]) {
    noted.first.emplace_back();
    if (!TakeNumber(position, noted.first.back())) return false;
  }
  return true;
}

}  // namespace

std::optional<Origin> OriginFromJson(std::string_view text) {
  if (NestsDeeperThan(text, kMaxJsonDepth)) return std::nullopt;
  const json in = json::parse(text, nullptr, false);
  if (!in.is_object()) return std::nullopt;
  const json none;
  const auto member = [&in, &none](const char* name) -> const json& {
    const auto found = in.find(name);
    return found == in.end() ? none : *found;
  };
  const auto count = [&member](const char* name, std::uint64_t& number) {
    return member(name).is_null() || TakeNumber(member(name), number);
  };
  Origin origin;
  if (!TakeNumber(member("shard"), origin.shard) || !TakeNumber(member("part"), origin.part) ||
      !member("last").is_boolean()) {
    return std::nullopt;
  }
  origin.last = member("last").get<bool>();
  if (!origin.last) return origin;
  const bool whole =
      TakeReasons(member("left_out"), origin.left_out) &&
      (member("truncated").is_null() || TakeReasons(member("truncated"), origin.truncated)) &&
      TakeNumber(member("kept"), origin.kept) && TakeNumber(member("bytes_in"), origin.bytes_in) &&
      count("boxes_dropped", origin.boxes_dropped) &&
      count("profiles_dropped", origin.profiles_dropped) &&
      count("profiles_converted", origin.profiles_converted) && count("smaller", origin.smaller) &&
      TakeNoted(member("turned"), origin.turned) && TakeNoted(member("dim"), origin.dim);
  if (!whole) return std::nullopt;
  return origin;
}

}  // namespace sluice
