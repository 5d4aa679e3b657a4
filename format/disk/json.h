// Untrusted JSON: a check of its depth, for use before parsing, and the schema's text form
// (format/FORMAT.md, "Schema").
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

// Whether objects and arrays nest more than `limit` deep. Call it before parsing: the parser
// recurses, and a hostile manifest must not exhaust the stack. The text need not be valid.
bool NestsDeeperThan(std::string_view json, unsigned limit) noexcept;

}  // namespace sluice
