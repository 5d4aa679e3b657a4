// Schemas: their rules, and the layout of a row.
#include <sluice/schema.h>

#include "format/disk/limits.h"
#include "format/disk/record_layout.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"

namespace sluice {

namespace {

std::optional<ErrorCode> SchemaRefusal(std::vector<Field> fields) {
  return test::CodeOf([&] { Schema{std::move(fields)}.Validate(); });
}

}  // namespace

TEST_CASE("entries follow each other, each from a multiple of eight bytes") {
  const Schema schema{{Field::Array("flag", DType::kInt8, {}), Field::Image("picture"),
                       Field::Array("matrix", DType::kUint16, {3, 3}), Field::Bytes("text"),
                       Field::Variable("boxes", DType::kFloat32, {4}),
                       Field::Array("weight", DType::kFloat64, {})}};
  const RecordLayout layout(schema);
  const std::uint64_t offsets[] = {0, 8, 48, 72, 96, 120};
  const std::uint64_t entries[] = {1, 40, 18, 24, 24, 8};
  REQUIRE(layout.fields() == 6);
  for (std::size_t f = 0; f < 6; ++f) {
    CHECK(layout.offset(f) == offsets[f]);
    CHECK(layout.entry_bytes(f) == entries[f]);
  }
  CHECK(layout.record_bytes() == 128);
}

TEST_CASE("a schema needs between one and 256 fields of different names") {
  CHECK(SchemaRefusal({}) == ErrorCode::kInvalidArgument);
  CHECK(SchemaRefusal({Field::Image("a"), Field::Bytes("a")}) == ErrorCode::kInvalidArgument);
  std::vector<Field> fields;
  for (int i = 0; i < 256; ++i)
    fields.push_back(Field::Bytes("f" + std::to_string(i)));
  CHECK_FALSE(SchemaRefusal(fields).has_value());
  fields.push_back(Field::Bytes("one too many"));
  CHECK(SchemaRefusal(fields) == ErrorCode::kLimit);
}

TEST_CASE("a field's name has 1 to 255 bytes") {
  CHECK(SchemaRefusal({Field::Bytes("")}) == ErrorCode::kInvalidArgument);
  CHECK_FALSE(SchemaRefusal({Field::Bytes(std::string(255, 'n'))}).has_value());
  CHECK(SchemaRefusal({Field::Bytes(std::string(256, 'n'))}) == ErrorCode::kInvalidArgument);
}

TEST_CASE("shapes are bounded, and an image has none") {
  CHECK_FALSE(
      SchemaRefusal({Field::Array("a", DType::kInt8, {1, 1, 1, 1, 1, 1, 1, 2})}).has_value());
  CHECK(SchemaRefusal({Field::Array("a", DType::kInt8, {1, 1, 1, 1, 1, 1, 1, 1, 1})}) ==
        ErrorCode::kLimit);
  CHECK(SchemaRefusal({Field::Array("a", DType::kInt8, {3, 0})}) == ErrorCode::kInvalidArgument);
  CHECK(SchemaRefusal({Field::Variable("a", DType::kInt8, {65'537})}) == ErrorCode::kLimit);
  CHECK(SchemaRefusal({Field::Variable("a", DType::kInt8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF})}) ==
        ErrorCode::kLimit);
  Field image = Field::Image("a");
  image.shape = {3};
  CHECK(SchemaRefusal({image}) == ErrorCode::kInvalidArgument);
}

TEST_CASE("a row has at most 65536 bytes") {
  CHECK_FALSE(SchemaRefusal({Field::Array("a", DType::kFloat64, {8192})}).has_value());
  CHECK(SchemaRefusal({Field::Array("a", DType::kFloat64, {8192}),
                       Field::Array("b", DType::kInt8, {})}) == ErrorCode::kLimit);
}

TEST_CASE("a field follows only an image field of the same schema") {
  CHECK_FALSE(SchemaRefusal({Field::Image("a"), Field::Mask("m", "a")}).has_value());
  CHECK(SchemaRefusal({Field::Mask("m", "a")}) == ErrorCode::kInvalidArgument);
  CHECK(SchemaRefusal({Field::Bytes("a"), Field::Mask("m", "a")}) == ErrorCode::kInvalidArgument);
}

TEST_CASE("the roles image and mask are for image fields") {
  CHECK(SchemaRefusal({Field::Bytes("a", Role::kImage)}) == ErrorCode::kInvalidArgument);
  CHECK(SchemaRefusal({Field::Bytes("a", Role::kMask)}) == ErrorCode::kInvalidArgument);
}

TEST_CASE("a followed field follows nothing itself") {
  CHECK(SchemaRefusal({Field::Image("a"), Field::Mask("m", "a"), Field::Mask("n", "m")}) ==
        ErrorCode::kInvalidArgument);
  CHECK(SchemaRefusal({Field::Mask("m", "m")}) == ErrorCode::kInvalidArgument);
}

TEST_CASE(
    "the field whose classes are counted is the first label that is one integer and has classes") {
  Field of_boxes = Field::Variable("of boxes", DType::kInt32, {});
  of_boxes.role = Role::kLabel;
  of_boxes.classes = {"a"};
  Field several = Field::Array("several", DType::kInt32, {2});
  several.role = Role::kLabel;
  several.classes = {"a"};
  Field fraction = Field::Array("fraction", DType::kFloat32, {});
  fraction.role = Role::kLabel;
  fraction.classes = {"a"};
  Field no_label = Field::Array("no label", DType::kInt32, {});
  no_label.classes = {"a"};
  const Field unnamed = Field::Label("unnamed");
  const Field named = Field::Label("named", {"a", "b"});

  const Schema all{{of_boxes, several, fraction, no_label, unnamed, named}};
  CHECK(all.ClassField() == 5);
  CHECK(all.LabelField() == 5);
  // If no label has names, the first with one integer is used, and no classes are counted.
  const Schema numbers{{of_boxes, several, fraction, no_label, unnamed}};
  CHECK(numbers.ClassField() == Schema::kNone);
  CHECK(numbers.LabelField() == 4);
  const Schema none{{of_boxes, several, fraction, no_label}};
  CHECK(none.ClassField() == Schema::kNone);
  CHECK(none.LabelField() == Schema::kNone);
}

}  // namespace sluice
