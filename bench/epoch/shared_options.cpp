// The simulated link lies in front of whichever store holds the dataset. A local dataset gets a
// LocalStore for that, so that its reads become requests, like those to a real store.
// Dataset::Open() takes only a path, so OpenDataset() hands the store with the link to
// DatasetState, a part of the reader. The first of the three flags that is given creates the link;
// the members that the other flags set keep their defaults.
#include "bench/epoch/shared_options.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "format/remote/local_store.h"
#include "reader/dataset/dataset_state.h"
#include "tools/cli/option.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

using cli::UsageError;

namespace {

SlowLink& LinkOf(std::optional<SlowLink>& link) {
  return link ? *link : link.emplace();
}

}  // namespace

std::chrono::microseconds ParseDelay(std::string_view text) {
  constexpr double kMaxSeconds = 60;
  // "s" comes last, since the other units end with it, too.
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
      {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const double value =
        cli::ParseNumber(text.substr(0, text.size() - unit.size()), kMaxSeconds / seconds);
    return std::chrono::microseconds(static_cast<std::int64_t>(value * seconds * 1e6));
  }
  throw UsageError("give a time with its unit, such as 50ms, up to 60s");
}

std::uint64_t ParseRate(std::string_view text) {
  constexpr std::string_view kPerSecond = "/s";
  if (text.ends_with(kPerSecond)) text.remove_suffix(kPerSecond.size());
  const std::uint64_t rate = cli::ParseBytes(text);
  if (rate == 0) throw UsageError("must be greater than 0, such as 100MB/s");
  return rate;
}

void AddStoreOptions(CLI::App& app, std::optional<SlowLink>& link) {
  cli::AddOption(app, "--store-delay", "TIME",
                 "simulate an object store (also with a local DATASET) where a request takes this "
                 "time to its first byte, such as 50ms",
                 [&link](const std::string& text) { LinkOf(link).delay = ParseDelay(text); });
  cli::AddOption(
      app, "--store-rate", "RATE",
      "simulate an object store behind a link of this rate, such as 100MB/s",
      [&link](const std::string& text) { LinkOf(link).bytes_per_second = ParseRate(text); });
  cli::AddOption(
      app, "--store-errors", "SHARE",
      "simulate an object store where this share of the requests, such as 0.05, fails and is sent "
      "again",
      [&link](const std::string& text) { LinkOf(link).errors = cli::ParseNumber(text, 0.9); });
}

bool IsRemote(const std::filesystem::path& dataset, const std::optional<SlowLink>& link) {
  return link.has_value() || IsStoreUrl(dataset.string());
}

Dataset OpenDataset(const std::filesystem::path& dataset, const ReadLimits& limits,
                    const std::optional<SlowLink>& link, const std::stop_token& stop) {
  if (!link) return Dataset::Open(dataset, limits, stop);
  const ManifestPlace place = ManifestPlace::Of(dataset);
  std::shared_ptr<ObjectStore> store;
  if (IsStoreUrl(dataset.string())) {
    store = OpenStore(place.folder.string());
  } else {
    store = std::make_shared<LocalStore>(place.folder);
  }
  return DatasetOf(DatasetState::Open(std::make_shared<SlowStore>(std::move(store), *link), limits,
                                      stop, place.name));
}

void AddLink(nlohmann::ordered_json& json, const std::optional<SlowLink>& link) {
  if (!link) return;
  json["store_delay_seconds"] = std::chrono::duration<double>(link->delay).count();
  json["store_bytes_per_second"] = link->bytes_per_second;
  json["store_errors"] = link->errors;
}

std::vector<OutputSize> ParseSizes(const std::string& text) {
  std::vector<OutputSize> sizes;
  for (const std::string& item : cli::Split(text)) {
    const std::size_t at = item.find('@');
    const cli::Sides sides = cli::ParseSides(item.substr(0, at));
    const std::uint64_t epoch =
        at == std::string::npos ? 0 : cli::ParseInteger(item.substr(at + 1), 0, 1'000'000);
    if (sizes.empty() ? epoch != 0 : epoch <= sizes.back().epoch) {
      throw UsageError("sizes must begin with epoch 0, and their epochs must increase");
    }
    sizes.push_back({epoch, sides.width, sides.height});
  }
  return sizes;
}

}  // namespace sluice::bench
