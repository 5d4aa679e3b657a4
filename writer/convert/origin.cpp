#include "writer/convert/origin.h"

#include <nlohmann/json.hpp>

#include "format/disk/json_depth.h"
#include "format/disk/limits.h"

namespace sluice {

using nlohmann::json;

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
  }
  return out.dump();
}

std::optional<Origin> OriginFromJson(std::string_view text) {
  if (NestsDeeperThan(text, kMaxJsonDepth)) return std::nullopt;
  const json in = json::parse(text, nullptr, false);
  if (!in.is_object()) return std::nullopt;
  try {
    Origin origin;
    origin.shard = in.at("shard").get<std::uint32_t>();
    origin.part = in.at("part").get<std::uint32_t>();
    origin.last = in.at("last").get<bool>();
    if (origin.last) {
      in.at("left_out").get_to(origin.left_out);
      origin.kept = in.at("kept").get<std::uint64_t>();
      origin.bytes_in = in.at("bytes_in").get<std::uint64_t>();
      const auto count = [&in](const char* name) { return in.value(name, std::uint64_t{0}); };
      origin.boxes_dropped = count("boxes_dropped");
      origin.profiles_dropped = count("profiles_dropped");
      origin.profiles_converted = count("profiles_converted");
      origin.smaller = count("smaller");
    }
    return origin;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace sluice
