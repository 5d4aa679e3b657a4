// The schema's text form (format/FORMAT.md, "Schema").
#pragma once

#include <string>
#include <string_view>

#include <sluice/schema.h>

namespace sluice {

// Compact JSON with sorted member names: the same schema always gives the same text.
std::string SchemaToJson(const Schema& schema);

// Parses and validates. Unknown members are ignored and an unknown role reads as Role::kNone; an
// unknown kind or dtype is Error(kUnsupported), anything malformed Error(kCorrupt). `file` is for
// messages.
Schema SchemaFromJson(std::string_view text, const std::string& file);

}  // namespace sluice
