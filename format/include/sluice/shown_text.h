// Messages as others may see them: without what may be secret in a URL, its user information and
// its query. Keys of s3:// and gs:// have no query.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// A text with the secrets of all URLs in it left out. All messages of Error go through it.
std::string ShownText(std::string_view text);

// A single URL without its secrets: "https://user:password@host/data/?sig=x" is
// "https://host/data".
std::string ShownUrl(std::string_view url);

}  // namespace sluice
