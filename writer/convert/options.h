// The conversion's options: checked, and as text for the plan and the manifest.
#pragma once

#include <nlohmann/json.hpp>

#include <sluice/convert.h>

namespace sluice {

// Throws Error: kInvalidArgument for a value out of range, or two values that do not fit together;
// kUnsupported if colour profiles are to be converted in a build without lcms2.
void CheckOptions(const ConvertOptions& options);

// The options that the bytes of the result depend on. An option that has no effect because of the
// others (`seed` with keep_order) is null, so that its value does not change the plan's digest.
nlohmann::json OptionsToJson(const ConvertOptions& options);

// Reads the options from what OptionsToJson() wrote. An option keeps its default if its member is
// missing or invalid. An option that may be unset (max_side) is unset if its member is null or
// invalid.
ConvertOptions OptionsFromJson(const nlohmann::json& json);

// The options in `made`, a manifest's account of how its dataset was made; null if it has none.
nlohmann::json OptionsOfMade(const std::string& made);

}  // namespace sluice
