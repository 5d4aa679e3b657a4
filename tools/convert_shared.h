// Pictures that several parts of one conversion share, so that a test would use training images.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/convert.h>

#include "tools/convert_parts.h"

namespace sluice {

using SharedImages = std::vector<std::vector<SharedImage>>;

// Looks for them among the parts that were, or are to be, converted into `folder`, and lists them
// in its duplicates.tsv unless it is a dry run.
SharedImages LookForSharedImages(const std::vector<ConvertPart>& parts, const std::string& folder,
                                 const ConvertOptions& options, const std::stop_token& stop);

// A sentence that names two of them; empty if there are none.
std::string SharedWarning(const SharedImages& shared);

// For people: the warning to standard error, a line to standard output.
void PrintShared(const SharedImages& shared, const std::string& folder, bool dry_run);

nlohmann::ordered_json SharedJson(const SharedImages& shared);

}  // namespace sluice
