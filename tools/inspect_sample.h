// One sample's fields, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <sluice/dataset.h>

namespace sluice {

// {"index", "key", "place", "fields": [{"name", "kind", and what is in it}, ...]}. A field without
// a value has "absent": true.
nlohmann::ordered_json SampleJson(const Dataset& dataset, std::uint64_t index);

// The elements of an array or variable field, in row-major order; float32 as the shortest number
// that is read as the same one.
nlohmann::ordered_json ValuesJson(const Sample& sample, const Field& field);

}  // namespace sluice
