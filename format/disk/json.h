// Untrusted JSON: checks of its depth and of the format's rules for JSON, and the schema's text
// form (format/FORMAT.md, "Conventions" and "Schema").
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <sluice/schema.h>

namespace sluice {

// Compact JSON with sorted member names: the same schema always gives the same text.
std::string SchemaToJson(const Schema& schema);

// Makes a schema of its text, or of the JSON in it, and validates it. Unknown members, and a role
// that is not known, only go into Field::unknown; an unknown kind or dtype is Error(kUnsupported),
// anything malformed Error(kCorrupt). `file` is for messages.
Schema SchemaFromJson(std::string_view text, const std::string& file);
Schema SchemaFromParsed(const nlohmann::json& value, const std::string& file);

// Whether objects and arrays nest more than `limit` deep. Call it before parsing: the parser
// recurses, and a hostile manifest must not exhaust the stack. The text need not be valid.
bool NestsDeeperThan(std::string_view json, unsigned limit) noexcept;

// The first fault of a text by the rules for JSON in FORMAT.md, "Conventions", such as "is not JSON
// from byte 7 on"; empty if the text has no fault. The parser alone accepts a byte order mark, a
// member name that stands twice in an object, and anything after a zero byte.
std::string JsonFault(std::string_view text);

// A member of the outermost object that is a list, too long to hold as JSON. ParseJson() hands its
// elements to `take` one by one, in order, and leaves the list empty.
struct StreamedList {
  std::string name;
  std::function<void(const nlohmann::json& element)> take;
};

// Parses the text once. If JsonFault() finds a fault in it, sets `fault` to the same, and returns a
// value without meaning.
nlohmann::json ParseJson(std::string_view text, std::string& fault,
                         const StreamedList& streamed = {});

// The first fault of a value's content by its field's role, in the same form: text must be UTF-8,
// and json a JSON text. Empty for all other roles.
std::string RoleFault(Role role, std::string_view content);

// The text of a member of the outermost object, as it stands in `json`, which has no fault. The
// member's value is an object. Empty if there is no such member.
std::string_view MemberText(std::string_view json, std::string_view name);

// The members of `object` that are not among `known`, as a JSON object; empty if all are known.
std::string MembersBut(std::initializer_list<std::string_view> known, const nlohmann::json& object);

}  // namespace sluice
