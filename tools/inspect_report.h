// The text of `sluice inspect`, for standard output.
#pragma once

#include <cstdint>
#include <optional>

#include <sluice/dataset.h>

namespace sluice {

void PrintInspectText(const Dataset& dataset, bool with_shards);
void PrintSampleText(const Dataset& dataset, std::uint64_t sample);

// One JSON object: the dataset, and under "sample" that sample's fields.
void PrintInspectJson(const Dataset& dataset, bool with_shards,
                      std::optional<std::uint64_t> sample);

}  // namespace sluice
