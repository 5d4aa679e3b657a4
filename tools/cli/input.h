// Reads standard input so that an interruption ends the wait for it.
#pragma once

#include <functional>
#include <stop_token>
#include <string_view>

namespace sluice::cli {

// Calls `take` with each piece as it arrives, until the end. Throws Error: kIo, or kState if a stop
// was requested.
void ReadStandardInput(const std::stop_token& stop,
                       const std::function<void(std::string_view piece)>& take);

}  // namespace sluice::cli
