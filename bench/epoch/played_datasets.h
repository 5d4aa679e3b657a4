// The datasets of `sluice-bench epoch`: one, or several that are played as one.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include <sluice/loader.h>

#include "bench/epoch/run.h"

namespace sluice::bench {

std::vector<std::filesystem::path> PlayedFolders(const EpochOptions& options);

// `first`: options.dataset, if it is open. Throws Error.
std::vector<Dataset> OpenPlayed(const EpochOptions& options, std::optional<Dataset> first = {});

// Takes the datasets over: when the loader goes, nothing keeps them open.
Loader MakeLoader(const EpochOptions& options, std::vector<Dataset> datasets,
                  LoaderOptions loader_options);

}  // namespace sluice::bench
