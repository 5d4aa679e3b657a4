// A JSON file too large to hold as a whole: the elements of the lists at its top, one by one.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include <nlohmann/json.hpp>

namespace sluice {

// For a file {"a": [x, y, ...], "b": [...], ...}: calls visit("a", x), visit("a", y), ... in the
// file's order. Other members at the top are passed over. Throws Error: kNotFound, kIo, kCorrupt
// (no JSON object, or nested too deeply), kState (stopped).
void ForEachElement(
    const std::filesystem::path& file, const std::stop_token& stop,
    const std::function<void(const std::string& list, const nlohmann::json& element)>& visit);

}  // namespace sluice
