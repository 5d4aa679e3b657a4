// A conversion whose samples are to join others.
#pragma once

#include <sluice/convert.h>
#include <sluice/schema.h>

namespace sluice {

// As Convert(), for samples that must have exactly these fields. Throws Error(kInvalidArgument),
// before anything is written, where the source makes others.
ConvertSummary ConvertTo(const Schema& wanted, const ConvertSource& source,
                         const std::filesystem::path& dataset, const ConvertOptions& options,
                         const ConvertHooks& hooks);

}  // namespace sluice
