// A request sent on to another URL.
#pragma once

#include <algorithm>
#include <string>

#include "format/remote/http_message.h"
#include "format/remote/store_url.h"

namespace sluice {

// What proves who asks stays with the server that it is meant for.
inline void Redirect(HttpRequest& request, const std::string& target) {
  if (ParseHttpOrigin(request.url, "URL").origin != ParseHttpOrigin(target, "redirect").origin) {
    std::erase_if(request.headers,
                  [](const std::string& line) { return line.starts_with("authorization:"); });
  }
  request.url = target;
}

}  // namespace sluice
