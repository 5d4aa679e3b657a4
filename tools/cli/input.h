// Reads standard input, and asks a person, so that an interruption ends the wait for it.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

namespace sluice::cli {

// Calls `take` with each piece as it arrives, until the end. Throws Error: kIo, or kState if a stop
// was requested.
void ReadStandardInput(const std::stop_token& stop,
                       const std::function<void(std::string_view piece)>& take);

// Whether a person can be asked: standard input and standard error are terminals.
bool CanAsk();

// Asks on standard error and reads a line. Only "y" and "yes" are a yes. Errors as above.
bool Ask(const std::string& question, const std::stop_token& stop);

}  // namespace sluice::cli
