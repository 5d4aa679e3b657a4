// Paths and URLs of datasets without secrets, for messages.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// A URL without user information and query, which may be secret:
// "https://user:password@host/data?sig=x" is "https://host/data". Paths of files, and keys of s3://
// and gs://, are returned unchanged.
std::string ShownPath(std::string_view path);

// Whether a dataset's or source's path is a URL, "SCHEME://...", and not a path on this machine.
// Sluice opens s3://, gs://, http:// and https://; opening a URL of any other scheme throws
// Error(kInvalidArgument), and so does opening "s3:/x", which Python's pathlib.Path makes of
// "s3://x". "./az://x" is a path.
bool IsStoreUrl(std::string_view path) noexcept;

}  // namespace sluice
