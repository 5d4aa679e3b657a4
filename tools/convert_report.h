// The text that `sluice convert` prints at its end.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/convert.h>

namespace sluice {

struct ConvertAccount {
  std::string dataset;
  ConvertOptions options;
  ConvertSummary summary;
  bool planned = false;          // `sluice plan`: nothing is converted yet
  std::uint64_t found_done = 0;  // sources that an earlier run of the same command was done with
};

// A line for each reason, with its count and an example; the most frequent first.
std::string ReasonLines(const std::vector<LeftOut>& left_out);
nlohmann::ordered_json LeftOutJson(const std::vector<LeftOut>& left_out);

// The summary for people, to standard output; warnings to standard error.
void PrintConvertText(const ConvertAccount& account);

// The same as one JSON object.
nlohmann::ordered_json ConvertJson(const ConvertAccount& account);

}  // namespace sluice
