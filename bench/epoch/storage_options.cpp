// The flags are collected in StorageArguments, and ApplyStorage() turns them into the loader's
// options once the dataset is open: the default budget of a stage is the dataset's size, and
// contradictions show only when all flags are known. --cache and --stage pack a choice and a budget
// into one word, so they are parsed here; --read-ahead-bytes is a declared option of the loader.
// AddStorage() leaves out options with their defaults: `sluice-bench gate` takes a setting that
// neither result has as equal.
#include "bench/epoch/storage_options.h"

#include <nlohmann/json.hpp>

#include <sluice/loader_option_list.h>

#include "reader/dataset/options_of.h"
#include "reader/reading/memory.h"
#include "tools/cli/declared.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::AddOption;
using cli::ParseChoice;

void SetCache(const std::string& text, StorageArguments& arguments) {
  enum class Kept { kPageCache, kLocked, kDecoded };
  const std::size_t colon = text.find(':');
  const auto kept = ParseChoice<Kept>(
      text.substr(0, colon),
      {{"page_cache", Kept::kPageCache}, {"locked", Kept::kLocked}, {"decoded", Kept::kDecoded}});
  arguments.locked = kept == Kept::kLocked;
  arguments.keep.reset();
  if (kept == Kept::kDecoded) arguments.keep.emplace();
  if (colon == std::string::npos) return;
  if (!arguments.keep)
    throw cli::UsageError("only decoded takes a number of bytes, as in decoded:2GB");
  arguments.keep->bytes = cli::ParseBytes(text.substr(colon + 1));
  if (arguments.keep->bytes == 0) throw cli::UsageError("a budget of 0 bytes keeps nothing");
}

// Splits "FOLDER:BUDGET". A folder's name may contain colons, too: the text after the last colon is
// a budget if it begins like one.
void SetStage(const std::string& text, StorageArguments& arguments) {
  const std::size_t colon = text.rfind(':');
  const bool budget = colon != std::string::npos && colon + 1 < text.size() &&
                      text[colon + 1] >= '0' && text[colon + 1] <= '9';
  arguments.stage = sluice::Stage{budget ? text.substr(0, colon) : text, 0};
  if (arguments.stage->folder.empty()) {
    throw cli::UsageError("give a folder, as in /nvme/stage:200GB");
  }
  if (!budget) return;
  arguments.stage->bytes = cli::ParseBytes(text.substr(colon + 1));
  if (arguments.stage->bytes == 0) throw cli::UsageError("a budget of 0 bytes keeps nothing");
}

}  // namespace

void AddStorageOptions(CLI::App& app, StorageArguments& arguments) {
  cli::AddDeclared(app, arguments.mapped, &Mapped::read_ahead_bytes);
  app.add_flag("--direct", arguments.direct, "read past the page cache (O_DIRECT)");
  AddOption(app, "--cache", "WHAT",
            "what stays between epochs: page_cache (default), locked "
            "(the dataset in memory), or decoded[:BYTES] (decoded "
            "pictures; default: half of the free memory)",
            [&arguments](const std::string& text) { SetCache(text, arguments); });
  AddOption(app, "--stage", "DIR",
            "keep what was read in DIR, a folder on a fast local disk, block by block; with "
            "DIR:BYTES, at most that much",
            [&arguments](const std::string& text) { SetStage(text, arguments); });
  AddOption(app, "--share", "BYTES",
            "decode each row once for all processes that measure at the same time with the same "
            "options; the rows take at most BYTES of memory",
            [&arguments](const std::string& text) {
              arguments.share = SharedRows{.bytes = cli::ParseBytes(text)};
            });
  cli::MarkMayDiffer(app, {"--stage"});
}

void ApplyStorage(const StorageArguments& arguments, const Dataset& dataset,
                  LoaderOptions& loader) {
  if (arguments.direct && arguments.locked) {
    throw cli::UsageError(
        "--direct reads past the page cache, but --cache locked keeps the dataset there; give only "
        "one");
  }
  const Mapped& mapped = arguments.mapped;
  if (mapped.read_ahead_bytes && arguments.locked) {
    throw cli::UsageError(
        "--cache locked reads the whole dataset at once: not with --read-ahead-bytes");
  }
  if (arguments.direct) {
    loader.storage = Direct{mapped.read_ahead_bytes};
  } else if (arguments.locked) {
    loader.storage = Locked{};
  } else {
    loader.storage = mapped;
  }
  loader.keep = arguments.keep;
  if (loader.keep && loader.keep->bytes == 0) loader.keep->bytes = AvailableMemory() / 2;
  loader.stage = arguments.stage;
  loader.share = arguments.share;
  if (loader.stage && loader.stage->bytes == 0) {
    for (const ShardSummary& shard : dataset.shards())
      loader.stage->bytes += shard.bytes;
  }
}

std::string StorageText(const LoaderOptions& loader, const LoaderStats& stats) {
  std::string text;
  if (ReadsDirectly(loader)) {
    text += "shards read past the page cache";
    if (stats.refused_shards > 0) {
      text += cli::Format(" (refused for %llu shards)",
                          static_cast<unsigned long long>(stats.refused_shards));
    }
  }
  if (LocksInMemory(loader)) text += "; the dataset locked in memory";
  if (loader.keep) {
    text += cli::Format("; %s kept decoded, %s",
                        cli::CountText(stats.kept_pictures, "picture", "pictures").c_str(),
                        cli::BytesText(stats.kept_bytes).c_str());
  }
  if (loader.on_device.images != ImagesIn::kStorage) {
    text += cli::Format("; %s where the device reads, %s",
                        cli::CountText(stats.stored_pictures, "picture", "pictures").c_str(),
                        cli::BytesText(stats.stored_bytes).c_str());
  }
  if (loader.share) {
    text += cli::Format("; %s taken from others",
                        cli::CountText(stats.taken_rows, "row", "rows").c_str());
  }
  const bool fetches =
      loader.stage || stats.requests + stats.fetched_bytes + stats.cached_bytes > 0;
  if (fetches) {
    text += cli::Format("; %s fetched in %s (%llu repeated)",
                        cli::BytesText(stats.fetched_bytes).c_str(),
                        cli::CountText(stats.requests, "request", "requests").c_str(),
                        static_cast<unsigned long long>(stats.repeated_requests));
    if (loader.stage) {
      text += cli::Format(", %s found on the stage, no room there for %s",
                          cli::BytesText(stats.cached_bytes).c_str(),
                          cli::BytesText(stats.past_cache_bytes).c_str());
    }
  }
  if (text.empty()) return text;
  return (text.starts_with("; ") ? text.substr(2) : text) + "\n";
}

void AddStorage(nlohmann::ordered_json& json, const LoaderOptions& loader) {
  if (const auto ahead = ReadAheadBytesOf(loader)) json["read_ahead_depth_bytes"] = *ahead;
  if (ReadsDirectly(loader)) json["direct"] = true;
  if (LocksInMemory(loader)) json["cache"] = "locked";
  if (loader.keep) {
    json["cache"] = "decoded";
    json["cache_bytes"] = loader.keep->bytes;
  }
  if (loader.stage) json["stage_bytes"] = loader.stage->bytes;
  if (loader.share) json["share_bytes"] = loader.share->bytes;
}

}  // namespace sluice::bench
