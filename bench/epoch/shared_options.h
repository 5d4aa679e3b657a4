// Shared by several commands: the options of a simulated object store in front of a dataset, and
// the parser of --sizes.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sluice/dataset.h>
#include <sluice/transform.h>

#include "bench/epoch/slow_store.h"

namespace sluice::bench {

// Parse "50ms", "1.5s", "200us"; "100MB/s". Throw cli::UsageError.
std::chrono::microseconds ParseDelay(std::string_view text);
std::uint64_t ParseRate(std::string_view text);

// Adds --store-delay, --store-rate and --store-errors. `link` stays empty if none of them is given;
// it must live until the command line is parsed.
void AddStoreOptions(CLI::App& app, std::optional<SlowLink>& link);

// Whether a dataset is read from an object store, simulated or not.
bool IsRemote(const std::filesystem::path& dataset, const std::optional<SlowLink>& link);

// Opens a dataset, through the simulated link if there is one. After a stop request, every wait for
// the dataset's server ends soon with an Error.
Dataset OpenDataset(const std::filesystem::path& dataset, const ReadLimits& limits,
                    const std::optional<SlowLink>& link, const std::stop_token& stop);

// Adds JSON members that describe the link, if there is one.
void AddLink(nlohmann::ordered_json& json, const std::optional<SlowLink>& link);

// Parses "160,192@16": 160 x 160 from epoch 0 on, 192 x 192 from epoch 16 on. Throws
// cli::UsageError.
std::vector<OutputSize> ParseSizes(const std::string& text);

}  // namespace sluice::bench
