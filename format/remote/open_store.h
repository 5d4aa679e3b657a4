// For tests: a store with settings of their own.
#pragma once

#include <memory>
#include <string_view>

#include "format/remote/object_store.h"
#include "format/remote/store_settings.h"

namespace sluice {

std::shared_ptr<ObjectStore> OpenStoreWith(std::string_view url, const StoreSettings& settings);

}  // namespace sluice
