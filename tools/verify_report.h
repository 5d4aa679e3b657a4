// The text that `sluice verify` prints at its end, to standard output.
#pragma once

#include <string>

#include <sluice/verify.h>

namespace sluice {

// A line for each fault, and (unless quiet) the outcome.
void PrintVerifyText(const std::string& dataset, const VerifyReport& report, double seconds,
                     bool quiet);

// One JSON object. A fault that concerns no single sample has null for its sample and key.
void PrintVerifyJson(const VerifyReport& report, double seconds);

}  // namespace sluice
