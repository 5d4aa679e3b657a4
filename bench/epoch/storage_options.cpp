#include "bench/epoch/storage_options.h"

#include <nlohmann/json.hpp>

#include "reader/cache/available_memory.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::AddOption;
using cli::ParseChoice;

void SetCache(const std::string& text, LoaderOptions& loader) {
  const std::size_t colon = text.find(':');
  loader.cache = ParseChoice<Cache>(text.substr(0, colon), {{"page_cache", Cache::kPageCache},
                                                            {"locked", Cache::kLocked},
                                                            {"decoded", Cache::kDecoded}});
  if (colon == std::string::npos) return;
  if (loader.cache != Cache::kDecoded) {
    throw cli::UsageError("only decoded takes a budget, as in decoded:2GB");
  }
  loader.cache_bytes = cli::ParseBytes(text.substr(colon + 1));
  if (loader.cache_bytes == 0) throw cli::UsageError("a budget of 0 bytes keeps nothing");
}

// A folder's name may have colons, too: what follows the last one is a budget if it begins like
// one.
void SetStage(const std::string& text, LoaderOptions& loader) {
  const std::size_t colon = text.rfind(':');
  const bool budget = colon != std::string::npos && colon + 1 < text.size() &&
                      text[colon + 1] >= '0' && text[colon + 1] <= '9';
  loader.stage = budget ? text.substr(0, colon) : text;
  if (loader.stage.empty()) throw cli::UsageError("a stage is a folder, as in /nvme/stage:200GB");
  if (!budget) return;
  loader.stage_bytes = cli::ParseBytes(text.substr(colon + 1));
  if (loader.stage_bytes == 0) throw cli::UsageError("a budget of 0 bytes copies nothing");
}

const char* NameOf(Cache cache) noexcept {
  switch (cache) {
    case Cache::kPageCache: return "page_cache";
    case Cache::kLocked: return "locked";
    case Cache::kDecoded: break;
  }
  return "decoded";
}

}  // namespace

void AddStorageOptions(CLI::App& app, LoaderOptions& loader) {
  AddOption(app, "--behind", "HOW",
            "blocks behind the window: keep (default) mapped,\nunmap, or drop from the page cache",
            [&loader](const std::string& text) {
              loader.behind = ParseChoice<Behind>(
                  text,
                  {{"keep", Behind::kKeep}, {"unmap", Behind::kUnmap}, {"drop", Behind::kDrop}});
            });
  AddOption(
      app, "--read-ahead", "BYTES",
      "of blocks that are being read at a time (default:\nas the loader sees fit)",
      [&loader](const std::string& text) { loader.read_ahead_bytes = cli::ParseBytes(text); });
  app.add_flag("--direct", loader.direct, "read past the page cache (O_DIRECT)");
  AddOption(app, "--cache", "WHAT",
            "kept between epochs: page_cache (default), locked\n(the dataset in memory), or "
            "decoded[:BYTES] (pictures;\nby default half of the memory that is left)",
            [&loader](const std::string& text) { SetCache(text, loader); });
  AddOption(
      app, "--stage", "DIR",
      "copy shards to a folder on a fast local disk as they\nare first read; DIR:BYTES: up to "
      "so many bytes of them",
      [&loader](const std::string& text) { SetStage(text, loader); });
}

void CompleteStorage(const Dataset& dataset, LoaderOptions& loader) {
  if (loader.cache == Cache::kDecoded && loader.cache_bytes == 0) {
    loader.cache_bytes = AvailableMemory() / 2;
  }
  if (!loader.stage.empty() && loader.stage_bytes == 0) {
    for (const ShardSummary& shard : dataset.shards())
      loader.stage_bytes += shard.bytes;
  }
}

std::string StorageText(const LoaderOptions& loader, const LoaderStats& stats) {
  std::string text;
  if (loader.direct) {
    text += "shards read past the page cache";
    if (stats.refused_shards > 0) {
      text += cli::Format(" (refused for %llu shards)",
                          static_cast<unsigned long long>(stats.refused_shards));
    }
  }
  if (loader.cache == Cache::kLocked) text += "; the dataset locked in memory";
  if (loader.cache == Cache::kDecoded) {
    text += cli::Format("; %s kept decoded, %s",
                        cli::CountText(stats.kept_pictures, "picture", "pictures").c_str(),
                        cli::BytesText(stats.kept_bytes).c_str());
  }
  if (!loader.stage.empty()) {
    text +=
        cli::Format("; %s staged", cli::CountText(stats.staged_shards, "shard", "shards").c_str());
  }
  if (text.empty()) return text;
  return (text.starts_with("; ") ? text.substr(2) : text) + "\n";
}

void AddStorage(nlohmann::ordered_json& json, const LoaderOptions& loader) {
  if (loader.read_ahead_bytes > 0) json["read_ahead_depth_bytes"] = loader.read_ahead_bytes;
  if (loader.behind != Behind::kKeep)
    json["behind"] = loader.behind == Behind::kUnmap ? "unmap" : "drop";
  if (loader.direct) json["direct"] = true;
  if (loader.cache != Cache::kPageCache) json["cache"] = NameOf(loader.cache);
  if (loader.cache == Cache::kDecoded) json["cache_bytes"] = loader.cache_bytes;
  if (!loader.stage.empty()) json["stage_bytes"] = loader.stage_bytes;
}

}  // namespace sluice::bench
