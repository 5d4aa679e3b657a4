#include "format/disk/json.h"

#include <array>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/disk/limits.h"

namespace sluice {

bool NestsDeeperThan(std::string_view json, unsigned limit) noexcept {
  unsigned depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > limit) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

namespace {

using nlohmann::json;

constexpr std::array kKinds = {FieldKind::kImage, FieldKind::kBytes, FieldKind::kArray,
                               FieldKind::kVariable};
constexpr std::array kDTypes = {DType::kInt8,  DType::kInt16,  DType::kInt32,   DType::kInt64,
                                DType::kUint8, DType::kUint16, DType::kFloat32, DType::kFloat64};
constexpr std::array kRoles = {Role::kNone,  Role::kImage,     Role::kMask, Role::kLabel,
                               Role::kBoxes, Role::kKeypoints, Role::kText, Role::kJson};

// The value of `values` whose name is `name`, or null.
template <class Values>
const typename Values::value_type* FindNamed(const Values& values, std::string_view name) {
  for (const auto& value : values) {
    if (NameOf(value) == name) return &value;
  }
  return nullptr;
}

json FieldToJson(const Field& field) {
  json out = {{"name", field.name}, {"kind", NameOf(field.kind)}, {"role", NameOf(field.role)}};
  if (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) {
    out["dtype"] = NameOf(field.dtype);
    out["shape"] = field.shape;
  }
  if (!field.follows.empty()) out["follows"] = field.follows;
  if (!field.coordinates.empty()) out["coordinates"] = field.coordinates;
  if (!field.classes.empty()) out["classes"] = field.classes;
  if (!field.attributes.empty()) out["attributes"] = field.attributes;
  return out;
}

Field FieldFromJson(const json& in, const std::string& file) {
  Field field;
  field.name = in.at("name").get<std::string>();
  const auto kind = in.at("kind").get<std::string>();
  const FieldKind* known_kind = FindNamed(kKinds, kind);
  if (known_kind == nullptr) {
    throw Error(ErrorCode::kUnsupported, file, "schema",
                "field \"" + field.name + "\" is of kind \"" + kind +
                    "\", which this version of Sluice does not read; use a newer one");
  }
  field.kind = *known_kind;
  if (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) {
    const auto dtype = in.at("dtype").get<std::string>();
    const DType* known_dtype = FindNamed(kDTypes, dtype);
    if (known_dtype == nullptr) {
      throw Error(ErrorCode::kUnsupported, file, "schema",
                  "field \"" + field.name + "\" has elements of type \"" + dtype +
                      "\", which this version of Sluice does not read; use a newer one");
    }
    field.dtype = *known_dtype;
    const json& shape = in.at("shape");
    if (!shape.is_array()) {
      throw Error(ErrorCode::kCorrupt, file, "schema",
                  "field \"" + field.name + "\" has a shape that is not a list");
    }
    for (const json& extent : shape) {
      if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > kMaxRowBytes) {
        throw Error(ErrorCode::kCorrupt, file, "schema",
                    "field \"" + field.name + "\" has a shape that is out of range");
      }
      field.shape.push_back(extent.get<std::uint32_t>());
    }
  }
  if (const Role* role = FindNamed(kRoles, in.value("role", "none"))) field.role = *role;
  field.follows = in.value("follows", "");
  field.coordinates = in.value("coordinates", "");
  field.classes = in.value("classes", std::vector<std::string>{});
  field.attributes = in.value("attributes", std::map<std::string, std::string>{});
  return field;
}

}  // namespace

std::string SchemaToJson(const Schema& schema) {
  json fields = json::array();
  for (const Field& field : schema.fields)
    fields.push_back(FieldToJson(field));
  try {
    return json{{"fields", std::move(fields)}}.dump();
  } catch (const json::exception&) {
    throw Error(ErrorCode::kInvalidArgument,
                "a name in the schema (of a field, class or attribute) is not valid UTF-8");
  }
}

Schema SchemaFromJson(std::string_view text, const std::string& file) {
  Schema schema;
  if (NestsDeeperThan(text, kMaxJsonDepth)) {
    throw Error(ErrorCode::kCorrupt, file, "schema", "cannot be read: it nests too deeply");
  }
  try {
    const json parsed = json::parse(text);
    const json& fields = parsed.at("fields");
    if (!fields.is_array())
      throw Error(ErrorCode::kCorrupt, file, "schema", "has no list of fields");
    for (const json& field : fields)
      schema.fields.push_back(FieldFromJson(field, file));
  } catch (const json::exception&) {
    throw Error(ErrorCode::kCorrupt, file, "schema",
                "cannot be read: it is not JSON, or a member is missing or has the wrong type");
  }
  try {
    schema.Validate();
  } catch (const Error& error) {
    throw Error(ErrorCode::kCorrupt, file, "schema", error.sentence());
  }
  return schema;
}

}  // namespace sluice
