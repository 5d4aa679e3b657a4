// The options of `sluice-bench epoch` for reading shards and for keeping them or their pictures.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sluice/loader.h>

namespace sluice::bench {

// The options as typed; a budget that was not given is 0.
struct StorageArguments {
  Mapped mapped;
  bool direct = false;
  bool locked = false;
  std::optional<DecodedPictures> keep;
  std::optional<sluice::Stage> stage;
  std::optional<SharedRows> share;
};

// Adds --read-ahead-bytes, --direct, --cache, --stage and --share. `arguments` must live until the
// command line is parsed.
void AddStorageOptions(CLI::App& app, StorageArguments& arguments);

// Sets the loader's options, and the budgets that were not given: half of the free memory for
// decoded pictures, the size of the whole dataset for a stage. Throws cli::UsageError for options
// that contradict each other.
void ApplyStorage(const StorageArguments& arguments, const Dataset& dataset, LoaderOptions& loader);

// A line such as "shards read past the page cache; 640 pictures kept decoded, 310 MB"; empty if all
// options have their defaults and nothing was fetched from an object store.
std::string StorageText(const LoaderOptions& loader, const LoaderStats& stats);

// Adds members for options that do not have their defaults.
void AddStorage(nlohmann::ordered_json& json, const LoaderOptions& loader);

}  // namespace sluice::bench
