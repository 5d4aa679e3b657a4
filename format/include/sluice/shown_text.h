// Texts of messages without secrets: without the user information and the query of URLs. Keys of
// s3:// and gs:// URLs have no query, so they stay whole.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Returns the text without the secrets of the URLs in it. Every message of Error passes through
// this function.
std::string ShownText(std::string_view text);

// Returns a URL without its secrets: "https://user:password@host/data/?sig=x" becomes
// "https://host/data".
std::string ShownUrl(std::string_view url);

}  // namespace sluice
