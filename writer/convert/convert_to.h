// A conversion whose samples will join those of another dataset.
#pragma once

#include <sluice/convert.h>
#include <sluice/schema.h>

namespace sluice {

// Like Convert(), for samples that must have exactly these fields. Throws Error(kInvalidArgument)
// before anything is written if the source has other fields.
ConvertSummary ConvertTo(const Schema& wanted, const ConvertSource& source,
                         const std::filesystem::path& dataset, const ConvertOptions& options,
                         const ConvertHooks& hooks);

}  // namespace sluice
