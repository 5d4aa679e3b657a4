// What messages may show of a URL.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// "https://user:password@host/path?query" is "https://host/path".
std::string ShownUrl(std::string_view url);

}  // namespace sluice
