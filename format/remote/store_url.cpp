#include "format/remote/object_store.h"

namespace sluice {

bool IsStoreUrl(std::string_view path) noexcept {
  for (const std::string_view scheme : {"s3://", "gs://", "http://", "https://"}) {
    if (path.starts_with(scheme)) return true;
  }
  return false;
}

}  // namespace sluice
