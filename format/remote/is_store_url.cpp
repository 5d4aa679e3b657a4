#include <sluice/shown_path.h>

#include "format/remote/object_store.h"
#include "format/remote/shown_url.h"

namespace sluice {

bool IsStoreUrl(std::string_view path) noexcept {
  return path.starts_with("s3://") || path.starts_with("gs://") || path.starts_with("http://") ||
         path.starts_with("https://");
}

std::string ShownUrl(std::string_view url) {
  // In an object's name a question mark is a letter like others; elsewhere a query begins.
  if (!url.starts_with("s3://") && !url.starts_with("gs://"))
    url = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  std::string_view rest = url.substr(scheme + 3);
  const std::size_t at = rest.substr(0, rest.find('/')).rfind('@');
  if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  while (rest.ends_with('/'))
    rest.remove_suffix(1);
  return std::string(url.substr(0, scheme + 3)) + std::string(rest);
}

std::string ShownPath(std::string_view path) {
  return IsStoreUrl(path) ? ShownUrl(path) : std::string(path);
}

}  // namespace sluice
