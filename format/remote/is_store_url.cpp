#include "format/remote/object_store.h"

namespace sluice {

bool IsStoreUrl(std::string_view path) noexcept {
  return path.starts_with("s3://") || path.starts_with("gs://") || path.starts_with("http://") ||
         path.starts_with("https://");
}

}  // namespace sluice
