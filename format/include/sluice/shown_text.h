// Messages without secrets: the user information and the query of URLs are left out. Keys of s3://
// and gs:// have no query.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// The text without the secrets of the URLs in it. All messages of Error go through this function.
std::string ShownText(std::string_view text);

// A single URL without its secrets: "https://user:password@host/data/?sig=x" is
// "https://host/data".
std::string ShownUrl(std::string_view url);

}  // namespace sluice
