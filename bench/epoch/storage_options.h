// The options of `sluice-bench epoch` that say how shards are read and what is kept of them.
#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sluice/loader.h>

namespace sluice::bench {

// --behind, --read-ahead, --direct, --cache and --stage, into `loader`, which must outlive the
// program.
void AddStorageOptions(CLI::App& app, LoaderOptions& loader);

// Fills in budgets that were left open: half of the memory that is left for decoded pictures, the
// whole dataset for a stage.
void CompleteStorage(const Dataset& dataset, LoaderOptions& loader);

// A line such as "shards read past the page cache; 640 pictures kept decoded, 310 MB"; empty where
// all is as usual.
std::string StorageText(const LoaderOptions& loader, const LoaderStats& stats);

// Members for what is not as usual.
void AddStorage(nlohmann::ordered_json& json, const LoaderOptions& loader);

}  // namespace sluice::bench
