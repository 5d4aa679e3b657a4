// Paths and URLs of datasets as messages show them: without secrets.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Returns a URL without its user information and its query, because both may be secret:
// "https://user:password@host/data?sig=x" becomes "https://host/data". Paths of files, and keys of
// s3:// and gs:// URLs, stay as they are.
std::string ShownPath(std::string_view path);

// Whether the path of a dataset or of a source is a URL ("SCHEME://..."), not a path on this
// machine. Sluice opens s3://, gs://, http:// and https:// URLs. Opening a URL of any other scheme
// throws Error(kInvalidArgument). So does opening "s3:/x", which counts as a URL because Python's
// pathlib.Path makes it of "s3://x". "./az://x" is a path.
bool IsStoreUrl(std::string_view path) noexcept;

}  // namespace sluice
