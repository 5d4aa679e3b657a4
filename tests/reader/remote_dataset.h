// Opens a dataset of a local folder as if it were in an object store behind a simulated link.
#pragma once

#include "bench/epoch/slow_store.h"
#include "format/remote/local_store.h"
#include "reader/dataset/dataset_state.h"

namespace sluice::test {

inline Dataset OpenRemote(const std::filesystem::path& folder, const SlowLink& link = {}) {
  return DatasetOf(
      DatasetState::Open(std::make_shared<SlowStore>(std::make_shared<LocalStore>(folder), link)));
}

}  // namespace sluice::test
