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

// Makes a schema from its text, or from the parsed text, and validates it. Unknown members and
// roles are kept in Field::unknown or Schema::unknown. Throws Error(kUnsupported) for an unknown
// kind or dtype, Error(kCorrupt) for anything malformed. `file` is for messages.
Schema SchemaFromJson(std::string_view text, const std::string& file);
Schema SchemaFromParsed(const nlohmann::json& value, const std::string& file);
// The schema of a column: its fields may follow images that `images` has and it lacks.
Schema ColumnSchemaFromParsed(const nlohmann::json& value, const Schema& images,
                              const std::string& file);

// Whether objects and arrays nest more than `limit` deep. The text need not be valid. For text that
// nlohmann::json parses directly; JsonFault() and ParseJson() limit the depth themselves.
bool NestsDeeperThan(std::string_view json, unsigned limit) noexcept;

// Says that a number is too large for a double, such as 1e999, if nlohmann's exception with that id
// is about one; empty for others. `token`: the text that was read last.
std::string TooLargeNumber(int exception_id, const std::string& token);

// The first fault of a text by the rules for JSON in FORMAT.md, "Conventions", such as "is not JSON
// from byte 7 on"; empty if the text has no fault. Finds more faults than nlohmann's parser, which
// accepts a byte order mark, a member name that stands twice in an object, and anything after a
// zero byte.
std::string JsonFault(std::string_view text);

// Names a list that is too long to hold as JSON: a member of the outermost object. ParseJson()
// hands the list's elements to `take` one by one, in order, and leaves the list empty.
struct StreamedList {
  std::string name;
  std::function<void(const nlohmann::json& element)> take;
};

// Parses the text, in one pass over it. If the text has a fault, sets `fault` to what JsonFault()
// returns; the value returned then means nothing.
nlohmann::json ParseJson(std::string_view text, std::string& fault,
                         const StreamedList& streamed = {});

// Checks a value by its field's role: kText must be UTF-8, kJson must be JSON, and
// kInstances must be complete outlines and runs (of any size of image). Returns the
// first fault, worded as by JsonFault(). Empty for a value without a fault, and for other roles.
std::string RoleFault(Role role, std::string_view content);

// Finds a member of the outermost object, and returns its value's text as it stands in `json`.
// Empty if there is no such member. `json` must have no fault, and the value must be an object.
std::string_view MemberText(std::string_view json, std::string_view name);

// The members of `object` that are not among `known`, as a JSON object; empty if all are known.
std::string MembersBut(std::initializer_list<std::string_view> known, const nlohmann::json& object);
// Of two texts that MembersBut() has returned: the members of the first, and those that only the
// later one has.
std::string JoinMembers(const std::string& first, const std::string& later);

}  // namespace sluice
