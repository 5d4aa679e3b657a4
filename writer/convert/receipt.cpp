#include "writer/convert/receipt.h"

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "writer/shard_writer.h"

namespace sluice {

std::string ReceiptName(std::uint32_t shard) {
  const std::string name = ShardFileName(shard);
  return name.substr(0, name.rfind('.')) + ".made.json";
}

std::string ReceiptText(const Plan& plan, const Schema& schema, const MadeShard& made) {
  nlohmann::ordered_json receipt = nlohmann::ordered_json::object();
  receipt["plan"] = ToHex(plan.digest);
  receipt["origin"] = OriginToJson(made.origin);
  receipt["parts"] = nlohmann::json::array();
  for (const FinishedShard& part : made.parts) {
    Manifest manifest = BeginManifest(DescribedName(schema), schema);
    manifest.made = MadeJson(plan);
    AddShard(part, manifest);
    Id128 unused;
    receipt["parts"].push_back(ManifestToJson(manifest, unused));
  }
  return receipt.dump();
}

std::optional<MadeShard> MadeByReceipt(std::string_view text, const Plan& plan,
                                       const Schema& schema, std::uint32_t shard) {
  if (NestsDeeperThan(text, kMaxJsonDepth)) return std::nullopt;
  const nlohmann::json receipt = nlohmann::json::parse(text, nullptr, false);
  try {
    if (!receipt.is_object() || receipt.at("plan") != ToHex(plan.digest)) return std::nullopt;
    std::optional<Origin> origin = OriginFromJson(receipt.at("origin").get<std::string>());
    const std::vector<std::string> parts = receipt.at("parts").get<std::vector<std::string>>();
    const std::uint32_t last = parts.empty() ? 0 : static_cast<std::uint32_t>(parts.size() - 1);
    if (!origin || origin->shard != shard || !origin->last || origin->part != last)
      return std::nullopt;
    MadeShard made;
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
      Id128 unused;
      Manifest manifest = ManifestFromJson(parts[part], ReceiptName(shard), unused);
      if (manifest.schema != schema || manifest.shards.size() != 1 ||
          manifest.shards[0].file != ShardFileName(shard, part) ||
          manifest.shards[0].id != ShardIdOf(plan, shard, part)) {
        return std::nullopt;
      }
      made.parts.push_back({std::move(manifest.shards[0]), std::move(manifest.images),
                            std::move(manifest.values), std::move(manifest.class_counts)});
    }
    made.origin = std::move(*origin);
    return made;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace sluice
