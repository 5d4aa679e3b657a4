// What other edits do with columns.
#pragma once

#include <optional>

#include <sluice/dataset_edit.h>

#include "writer/edit/new_version.h"

namespace sluice {

// Gives the samples of `added`, which the version has taken over, rows in all of its columns. A
// field that replaces one of the image shards takes its value from there. Other arrays get
// `missing`, or the value that earlier samples without a row have; other fields are absent. Throws
// Error(kInvalidArgument) if an array has no such value.
void ExtendColumns(NewVersion& version, const std::filesystem::path& folder,
                   const StoredDataset& added, const std::optional<double>& missing,
                   const EditHooks& hooks);

}  // namespace sluice
