// nlohmann's parser accepts more than the format allows. So JsonReader receives its events and
// stops at the first fault; FaultOf() looks for a byte order mark and for zero bytes before that.
// With a `root`, the same pass also builds the value.
// `names_` holds the member names of all open objects, so its last entry is the member whose value
// comes next. They stay in the order of the text until their object ends: only then are they
// sorted, to find one that stands twice.
// The second half of the file is the schema's text form.
#include "format/disk/json.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/instances.h>

#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "format/utf8.h"

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

std::string_view MemberText(std::string_view json, std::string_view name) {
  constexpr const char* kSpace = " \t\r\n";
  const std::string quoted = '"' + std::string(name) + '"';
  std::size_t begin = 0;  // of the value, once the name is found
  unsigned depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      const std::size_t start = i;
      while (++i < json.size() && json[i] != '"')
        if (json[i] == '\\') ++i;
      if (depth != 1 || json.substr(start, i + 1 - start) != quoted) continue;
      const std::size_t colon = json.find_first_not_of(kSpace, i + 1);
      if (colon != std::string_view::npos && json[colon] == ':')  // a name, not a value
        begin = json.find_first_not_of(kSpace, colon + 1);
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
      if (begin != 0 && depth == 1) return json.substr(begin, i + 1 - begin);
    }
  }
  return {};
}

using nlohmann::json;

std::string MembersBut(std::initializer_list<std::string_view> known, const json& object) {
  json others;
  for (const auto& [name, value] : object.items())
    if (std::find(known.begin(), known.end(), name) == known.end()) others[name] = value;
  return others.is_null() ? std::string() : others.dump();
}

std::string JoinMembers(const std::string& first, const std::string& later) {
  if (first.empty() || later.empty()) return first + later;
  // Members of `first` win.
  json members = json::parse(later);
  members.update(json::parse(first));
  return members.dump();
}

namespace {

// Adds members that MembersBut() has kept.
void AddMembers(const std::string& members, json& object) {
  if (!members.empty()) object.update(json::parse(members));
}

// Receives what the parser finds in a text, and stops the parser at the first fault. Keeps the
// values only if there is a `root` to hold them.
class JsonReader : public json::json_sax_t {
 public:
  std::string fault;

  JsonReader() = default;
  JsonReader(json& root, const StreamedList& streamed) : root_(&root), streamed_(&streamed) {}

  bool null() override { return Take(nullptr); }
  bool boolean(bool value) override { return Take(value); }
  bool number_integer(std::int64_t value) override { return Take(value); }
  bool number_unsigned(std::uint64_t value) override { return Take(value); }
  bool number_float(double value, const std::string& /*text*/) override { return Take(value); }
  bool string(std::string& value) override { return Take(std::move(value)); }
  bool binary(json::binary_t& /*value*/) override { return true; }  // a text has none
  bool start_object(std::size_t /*members*/) override {
    first_names_.push_back(names_.size());
    return Enter(json::value_t::object);
  }
  bool key(std::string& name) override {
    names_.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(first_names_.back());
    std::sort(begin, names_.end());
    if (const auto twice = std::adjacent_find(begin, names_.end()); twice != names_.end())
      fault = "has the member \"" + twice->substr(0, 100) + "\" twice in one object";
    names_.resize(first_names_.back());
    first_names_.pop_back();
    return Leave();
  }
  bool start_array(std::size_t /*elements*/) override { return Enter(json::value_t::array); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t position, const std::string& token,
                   const json::exception& error) override {
    fault = TooLargeNumber(error.id, token);
    fault = fault.empty() ? "is not JSON from byte " + std::to_string(position) + " on"
                          : fault + ", up to byte " + std::to_string(position);
    return false;
  }

 private:
  template <class T>
  bool Take(T&& value) {
    if (root_ == nullptr) return true;
    Put(std::forward<T>(value));
    Complete();
    return true;
  }
  bool Enter(json::value_t kind) {
    if (++depth_ > kMaxJsonDepth) fault = "nests too deeply";
    if (root_ == nullptr || !fault.empty()) return fault.empty();
    json& value = Put(kind);
    if (open_.size() == 1 && value.is_array() && streamed_->take && !names_.empty() &&
        names_.back() == streamed_->name) {
      list_ = &value;
    }
    open_.push_back(&value);
    return true;
  }
  bool Leave() {
    --depth_;
    if (root_ == nullptr || !fault.empty()) return fault.empty();
    if (open_.back() == list_) list_ = nullptr;
    open_.pop_back();
    Complete();
    return true;
  }

  // Puts the value into the innermost open list or object.
  json& Put(json value) {
    if (open_.empty()) return *root_ = std::move(value);
    json& parent = *open_.back();
    if (!parent.is_array()) return parent[names_.back()] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }
  // Called after each complete value. If it is an element of the streamed list, hands it on.
  void Complete() {
    if (list_ == nullptr || open_.back() != list_) return;
    streamed_->take(list_->back());
    list_->clear();
  }

  unsigned depth_ = 0;
  std::vector<std::string> names_;        // of the members of all open objects
  std::vector<std::size_t> first_names_;  // for each open object, where its names begin
  json* root_ = nullptr;
  const StreamedList* streamed_ = nullptr;
  std::vector<json*> open_;  // the open lists and objects in `root`
  json* list_ = nullptr;     // the streamed list, while it is open
};

std::string FaultOf(std::string_view text, JsonReader reader) {
  if (text.starts_with("\xEF\xBB\xBF")) return "begins with a byte order mark";
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return "has a zero byte, byte " + std::to_string(zero + 1);
  json::sax_parse(text, &reader);
  return reader.fault;
}

}  // namespace

std::string TooLargeNumber(int exception_id, const std::string& token) {
  constexpr int kOutOfRange = 406;
  if (exception_id != kOutOfRange) return {};
  return "has a number that is too large for 64 bits (" + token.substr(0, 40) + ")";
}

std::string JsonFault(std::string_view text) {
  return FaultOf(text, {});
}

json ParseJson(std::string_view text, std::string& fault, const StreamedList& streamed) {
  json value;
  fault = FaultOf(text, {value, streamed});
  return value;
}

std::string RoleFault(Role role, std::string_view content) {
  if (role == Role::kJson) return JsonFault(content);
  if (role == Role::kInstances) {
    const char* const defect = Instances().Open(AsBytes(content), 0, 0);
    return defect == nullptr ? "" : "cannot be read as instances: " + std::string(defect);
  }
  if (role != Role::kText) return {};
  const std::size_t valid = Utf8Prefix(content);
  return valid == content.size() ? ""
                                 : "is not UTF-8 from byte " + std::to_string(valid + 1) + " on";
}

namespace {

template <class Enum>
std::optional<Enum> FindNamed(std::string_view name) {
  for (std::uint8_t i = 0; !NameOf(static_cast<Enum>(i)).empty(); ++i) {
    if (NameOf(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
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
  // `unknown` may have a role that this version does not know. That role is written only if the
  // field has no other.
  const json role = out["role"];
  AddMembers(field.unknown, out);
  if (field.role != Role::kNone) out["role"] = role;
  return out;
}

Field FieldFromJson(const json& in, const std::string& file) {
  Field field;
  field.name = in.at("name").get<std::string>();
  const auto unknown = [&](const std::string& what) {
    return Error(ErrorCode::kUnsupported, file, "schema",
                 "field \"" + field.name + "\" " + what +
                     "\", which this version of Sluice does not read; use a newer one");
  };
  const auto kind = in.at("kind").get<std::string>();
  const auto known_kind = FindNamed<FieldKind>(kind);
  if (!known_kind) throw unknown("is of kind \"" + kind);
  field.kind = *known_kind;
  if (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) {
    const auto dtype = in.at("dtype").get<std::string>();
    const auto known_dtype = FindNamed<DType>(dtype);
    if (!known_dtype) throw unknown("has elements of type \"" + dtype);
    field.dtype = *known_dtype;
    const json& shape = in.at("shape");
    if (!shape.is_array()) {
      throw Error(ErrorCode::kCorrupt, file, "schema",
                  "field \"" + field.name + "\" has a shape that is not a list");
    }
    for (const json& extent : shape) {
      if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > kMaxRecordBytes) {
        throw Error(ErrorCode::kCorrupt, file, "schema",
                    "field \"" + field.name + "\" has a shape that is out of range");
      }
      field.shape.push_back(extent.get<std::uint32_t>());
    }
  }
  const auto role = FindNamed<Role>(in.value("role", "none"));
  field.role = role.value_or(Role::kNone);
  // A role that is not known is kept like a member that is not known: then the list of known
  // members has "name" twice, and no "role".
  field.unknown = MembersBut({"name", "kind", "dtype", "shape", "follows", "coordinates", "classes",
                              "attributes", role ? "role" : "name"},
                             in);
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
    json out = {{"fields", std::move(fields)}};
    AddMembers(schema.unknown, out);
    return out.dump();
  } catch (const json::exception&) {
    throw Error(ErrorCode::kInvalidArgument,
                "a name in the schema (of a field, class or attribute) is not valid UTF-8");
  }
}

Schema SchemaFromJson(std::string_view text, const std::string& file) {
  std::string fault;
  const json value = ParseJson(text, fault);
  if (!fault.empty())
    throw Error(ErrorCode::kCorrupt, file, "schema", "cannot be read: it " + fault);
  return SchemaFromParsed(value, file);
}

namespace {

Schema FieldsFromParsed(const json& value, const std::string& file) {
  Schema schema;
  try {
    const json& fields = value.at("fields");
    if (!fields.is_array())
      throw Error(ErrorCode::kCorrupt, file, "schema", "has no list of fields");
    for (const json& field : fields)
      schema.fields.push_back(FieldFromJson(field, file));
    schema.unknown = MembersBut({"fields"}, value);
  } catch (const json::exception&) {
    throw Error(ErrorCode::kCorrupt, file, "schema",
                "cannot be read: a member is missing or has the wrong type");
  }
  return schema;
}

void RequireValid(const Schema& schema, const std::string& file) {
  try {
    schema.Validate();
  } catch (const Error& error) {
    throw Error(ErrorCode::kCorrupt, file, "schema", error.sentence());
  }
}

}  // namespace

Schema SchemaFromParsed(const json& value, const std::string& file) {
  Schema schema = FieldsFromParsed(value, file);
  RequireValid(schema, file);
  return schema;
}

Schema ColumnSchemaFromParsed(const json& value, const Schema& images, const std::string& file) {
  Schema schema = FieldsFromParsed(value, file);
  RequireValid(ColumnAlone(schema, images), file);
  return schema;
}

}  // namespace sluice
