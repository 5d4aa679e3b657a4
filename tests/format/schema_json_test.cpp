// Schemas as JSON: every kind of field, unknown members, and refusals.
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"

namespace sluice {

namespace {

Schema Read(std::string_view text) {
  return SchemaFromJson(text, "here.sluice");
}

std::optional<ErrorCode> JsonRefusal(std::string_view text) {
  return test::CodeOf([&] { Read(text); });
}

}  // namespace

TEST_CASE("every kind of field, with every attribute, survives its text form") {
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "left eye";
  boxes.coordinates = "xyxy-pixels";
  Field mask = Field::Mask("mask", "left eye");
  mask.classes = {"nothing", "caf\xC3\xA9", "a \"quoted\" name\n"};
  Field points = Field::Variable("points", DType::kInt16, {17, 2});
  points.role = Role::kKeypoints;
  points.attributes = {{"skeleton", "coco"}, {"", "\\"}};
  const Schema schema{
      {Field::Image("left eye"), mask, boxes, points, Field::Label("label", {"cat", "dog"}),
       Field::Array("embedding", DType::kFloat64, {2, 3}), Field::Bytes("caption", Role::kText),
       Field::Bytes("extra", Role::kJson), Field::Bytes("blob")}};
  CHECK(Read(SchemaToJson(schema)) == schema);
}

TEST_CASE("every element type has its name on disk") {
  const std::pair<DType, const char*> names[] = {
      {DType::kInt8, "int8"},       {DType::kInt16, "int16"},    {DType::kInt32, "int32"},
      {DType::kInt64, "int64"},     {DType::kUint8, "uint8"},    {DType::kUint16, "uint16"},
      {DType::kFloat32, "float32"}, {DType::kFloat64, "float64"}};
  for (const auto& [type, name] : names) {
    const Schema schema = Read(
        "{\"fields\":[{\"name\":\"a\",\"kind\":\"array\",\"shape\":[],"
        "\"dtype\":\"" +
        std::string(name) + "\"}]}");
    CHECK(schema.fields.at(0).dtype == type);
  }
}

TEST_CASE("the text form is compact, sorts members, and omits optional members that are empty") {
  const Schema schema{{Field::Image(), Field::Label("label", {"b", "a"})}};
  CHECK(
      SchemaToJson(schema) ==
      R"({"fields":[{"kind":"image","name":"image","role":"image"},)"
      R"({"classes":["b","a"],"dtype":"int32","kind":"array","name":"label","role":"label","shape":[]}]})");
}

TEST_CASE("unknown members and roles are ignored, and written again") {
  const std::string text =
      R"({"fields":[{"colour":"red","kind":"bytes","name":"a","role":"smell"}],"later":{"x":[1]}})";
  const Schema schema = Read(text);
  REQUIRE(schema.fields.size() == 1);
  CHECK(schema.fields[0] == Field::Bytes("a"));
  CHECK(schema == Schema{{Field::Bytes("a")}});
  CHECK(SchemaToJson(schema) == text);
}

TEST_CASE("unknown kinds and element types are refused as unsupported") {
  CHECK(JsonRefusal(R"({"fields":[{"name":"a","kind":"video"}]})") == ErrorCode::kUnsupported);
  CHECK(JsonRefusal(R"({"fields":[{"name":"a","kind":"array","dtype":"float8","shape":[]}]})") ==
        ErrorCode::kUnsupported);
}

TEST_CASE("malformed schemas are refused as corrupt, with the file's name") {
  for (const char* text :
       {"",
        "null",
        "7",
        "[]",
        "{",
        "{}",
        R"({"fields":null})",
        R"({"fields":{}})",
        R"({"fields":[]})",
        R"({"fields":[7]})",
        R"({"fields":[{}]})",
        R"({"fields":[{"name":"a"}]})",
        R"({"fields":[{"name":1,"kind":"bytes"}]})",
        R"({"fields":[{"name":"a","kind":"array"}]})",
        R"({"fields":[{"name":"a","kind":"array","dtype":"int8"}]})",
        R"({"fields":[{"name":"a","kind":"array","dtype":"int8","shape":3}]})",
        R"({"fields":[{"name":"a","kind":"array","dtype":"int8","shape":{"x":3}}]})",
        R"({"fields":[{"name":"a","kind":"array","dtype":"int8","shape":[-1]}]})",
        R"({"fields":[{"name":"a","kind":"array","dtype":"int8","shape":[1.5]}]})",
        R"({"fields":[{"name":"a","kind":"array","dtype":"int8","shape":[4294967297]}]})",
        R"({"fields":[{"name":"a","kind":"bytes","classes":"cat"}]})",
        R"({"fields":[{"name":"a","kind":"bytes","attributes":{"n":1}}]})",
        R"({"fields":[{"name":"a","kind":"bytes","follows":"b"}]})",
        R"({"fields":[{"name":"a","kind":"bytes"}]} x)",
        R"({"fields":[{"name":"a","name":"b","kind":"bytes"}]})",
        "\xEF\xBB\xBF{\"fields\":[{\"name\":\"a\",\"kind\":\"bytes\"}]}",
        "{\"fields\":[{\"name\":\"\xFF\",\"kind\":\"bytes\"}]}"}) {
    INFO(text);
    const std::optional<Error> error = test::ErrorOf([&] { Read(text); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::kCorrupt);
    CHECK(error->file() == "here.sluice");
  }
}

TEST_CASE("a schema with millions of nested arrays is refused") {
  const std::string deep(2'000'000, '[');
  CHECK(JsonRefusal(R"({"fields":[],"x":)" + deep) == ErrorCode::kCorrupt);
  const std::string closed = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  CHECK(JsonRefusal(R"({"fields":[{"name":"a","kind":"bytes"}],"x":)" + closed + "}") ==
        ErrorCode::kCorrupt);
  // Brackets inside strings do not count.
  CHECK_FALSE(
      JsonRefusal(
          R"({"fields":[{"name":"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[","kind":"bytes"}]})")
          .has_value());
}

TEST_CASE("names that are not UTF-8 cannot be written") {
  const Schema schema{{Field::Bytes("\xFF")}};
  CHECK(test::CodeOf([&] { SchemaToJson(schema); }) == ErrorCode::kInvalidArgument);
}

}  // namespace sluice
