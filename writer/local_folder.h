// Datasets are changed in folders; an object store gets them by Convert() and CopyDataset().
#pragma once

#include <filesystem>

#include <sluice/error.h>

#include "format/remote/object_store.h"

namespace sluice {

// Throws Error(kInvalidArgument) for a URL.
inline void RequireFolder(const std::filesystem::path& path) {
  if (!IsStoreUrl(path.string())) return;
  // Without the URL, which may have a secret in it.
  throw Error(
      ErrorCode::kInvalidArgument,
      "datasets are changed in folders, not at URLs: work on a folder, and use `sluice copy` "
      "between it and the URL");
}

}  // namespace sluice
