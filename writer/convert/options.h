// The conversion's options: checked, and as text for the plan and the manifest.
#pragma once

#include <nlohmann/json.hpp>

#include <sluice/convert.h>

namespace sluice {

// Throws Error(kInvalidArgument) for a value out of range, or two values that do not fit together.
void CheckOptions(const ConvertOptions& options);

// The options that the bytes of the result depend on. An option that the others make irrelevant is
// null, so that it makes no difference.
nlohmann::json OptionsToJson(const ConvertOptions& options);

// The options from that text. A member that is missing or makes no sense keeps its default; null
// and nonsense leave an option unset that may be so (max_side).
ConvertOptions OptionsFromJson(const nlohmann::json& json);

// The text of the options within a manifest's account of how its dataset was made; null if it names
// none.
nlohmann::json OptionsOfMade(const std::string& made);

}  // namespace sluice
