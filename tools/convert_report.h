// What `sluice convert` says at its end.
#pragma once

#include <string>

#include <sluice/convert.h>

namespace sluice {

struct ConvertAccount {
  std::string dataset;
  ConvertOptions options;
  ConvertSummary summary;
  std::uint64_t found_done = 0;  // sources that an earlier run of the same command was done with
};

// The summary for people, to standard output; warnings to standard error.
void PrintConvertText(const ConvertAccount& account);

// One JSON object, to standard output.
void PrintConvertJson(const ConvertAccount& account);

}  // namespace sluice
