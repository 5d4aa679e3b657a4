#include "bench/epoch/played_datasets.h"

#include <utility>

#include <sluice/mixture.h>

namespace sluice::bench {

std::vector<std::filesystem::path> PlayedFolders(const EpochOptions& options) {
  std::vector<std::filesystem::path> folders = {options.dataset};
  folders.insert(folders.end(), options.with.begin(), options.with.end());
  return folders;
}

std::vector<Dataset> OpenPlayed(const EpochOptions& options, std::optional<Dataset> first) {
  std::vector<Dataset> datasets;
  if (first) datasets.push_back(*std::exchange(first, std::nullopt));
  const std::vector<std::filesystem::path> folders = PlayedFolders(options);
  for (std::size_t i = datasets.size(); i < folders.size(); ++i)
    datasets.push_back(OpenDataset(folders[i], options.limits, options.link));
  return datasets;
}

Loader MakeLoader(const EpochOptions& options, std::vector<Dataset> datasets,
                  LoaderOptions loader_options) {
  if (datasets.size() == 1) return Loader(std::move(datasets.front()), std::move(loader_options));
  Mixture mixture;
  for (std::size_t i = 0; i < datasets.size(); ++i)
    mixture.parts.push_back(
        {std::move(datasets[i]), options.weights.empty() ? 0 : options.weights[i]});
  datasets.clear();
  return Loader(std::exchange(mixture, {}), std::move(loader_options));
}

}  // namespace sluice::bench
