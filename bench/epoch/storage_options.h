// The options of `sluice-bench epoch` that say how shards are read and what is kept of them.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sluice/loader.h>

namespace sluice::bench {

// As typed; budgets that were left open are 0.
struct StorageArguments {
  std::optional<Behind> behind;
  std::optional<std::uint64_t> read_ahead_bytes;
  bool direct = false;
  bool locked = false;
  std::optional<DecodedPictures> keep;
  std::optional<sluice::Stage> stage;
};

// --behind, --read-ahead, --direct, --cache and --stage. `arguments` must outlive the program.
void AddStorageOptions(CLI::App& app, StorageArguments& arguments);

// Sets the loader's options, and the budgets that were left open: half of the memory that is left
// for decoded pictures, the whole dataset for a stage. Throws cli::UsageError for options that
// contradict each other.
void ApplyStorage(const StorageArguments& arguments, const Dataset& dataset, LoaderOptions& loader);

// A line such as "shards read past the page cache; 640 pictures kept decoded, 310 MB"; empty where
// all is as usual.
std::string StorageText(const LoaderOptions& loader, const LoaderStats& stats);

// Members for what is not as usual.
void AddStorage(nlohmann::ordered_json& json, const LoaderOptions& loader);

}  // namespace sluice::bench
