// Datasets at URLs, and local ones behind a simulated slow store, for the commands that read.
#pragma once

#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sluice/dataset.h>

#include "format/remote/slow_store.h"

namespace sluice::bench {

// "50ms", "1.5s", "200us"; "100MB/s". Throw cli::UsageError.
std::chrono::microseconds ParseDelay(std::string_view text);
std::uint64_t ParseRate(std::string_view text);

// --store-delay, --store-rate and --store-errors; empty: none was given. `link` must outlive the
// program.
void AddStoreOptions(CLI::App& app, std::optional<SlowLink>& link);

// Whether a dataset is read from an object store, simulated or not.
bool IsRemote(const std::filesystem::path& dataset, const std::optional<SlowLink>& link);

// Opens a dataset, through the simulated link if there is one.
Dataset OpenDataset(const std::filesystem::path& dataset, const ReadLimits& limits,
                    const std::optional<SlowLink>& link);

// Adds members that describe the link, if there is one.
void AddLink(nlohmann::ordered_json& json, const std::optional<SlowLink>& link);

}  // namespace sluice::bench
