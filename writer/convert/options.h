// The conversion's options: checked, and as text for plan and manifest.
#pragma once

#include <nlohmann/json.hpp>

#include <sluice/convert.h>

namespace sluice {

// Throws Error(kInvalidArgument) for a value out of range or two that do not fit together.
void CheckOptions(const ConvertOptions& options);

// What the bytes of the result depend on; options that have no effect beside others are null, so
// that they make no difference.
nlohmann::json OptionsToJson(const ConvertOptions& options);

// The options whose text that is; what is missing or of no sense keeps its default.
ConvertOptions OptionsFromJson(const nlohmann::json& json);

// The text of the options in what a manifest says of how its dataset was made; null if it says
// nothing of any.
nlohmann::json OptionsOfMade(const std::string& made);

}  // namespace sluice
