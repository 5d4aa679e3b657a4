// The manifest of a dataset: its JSON, and the refusal of impossible or unknown content.
#include "format/disk/manifest.h"

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/format/example.h"
#include "tests/temporary_folder.h"

namespace sluice {

namespace {

constexpr const char* kShard =
    R"({"block_samples":8,"blocks":1,"bytes":12288,"digest":"00000000000000000000000000000001",)"
    R"("file":"a.sluice","id":"00000000000000000000000000000002","samples":2})";
constexpr const char* kImages =
    R"({"channels":[3,3],"height":[1,2],"max_payload_bytes":9,"payload_bytes":10,)"
    R"("pixel_type":"uint8","present":2,"width":[3,4]})";

// Where the text begins whose digest is the id: right after the id's 32 digits.
constexpr std::size_t kRestAt = 39;

// Returns the manifest that has `rest` after its id. The id is put before it as FORMAT.md says, not
// by ManifestToJson().
std::string Seal(const std::string& rest) {
  return "{\"id\":\"" + ToHex(Hash128(AsBytes(rest))) + rest;
}

// A manifest of two samples, in which `from` was replaced by `to` before the id was computed.
std::string TextWith(const std::string& from = {}, const std::string& to = {}) {
  std::string rest =
      std::string(R"(","format":"sluice-dataset","version":1,"name":"n","samples":2,)") +
      R"("schema":{"fields":[{"kind":"image","name":"image"}]},"images":[)" + kImages +
      R"(],"class_counts":[],"made":{"by":"hand"},"shards":[)" + kShard + "]}";
  if (!from.empty()) {
    const std::size_t at = rest.find(from);
    REQUIRE(at != std::string::npos);
    rest.replace(at, from.size(), to);
  }
  return Seal(rest);
}

std::optional<Error> ManifestRefusal(const std::string& text) {
  Id128 id;
  return test::ErrorOf([&] { ManifestFromJson(text, "manifest.json", id); });
}

// The code of the error for TextWith(from, to); nullopt if that manifest is read.
std::optional<ErrorCode> CodeWith(const std::string& from, const std::string& to) {
  const auto error = ManifestRefusal(TextWith(from, to));
  return error ? std::optional(error->code()) : std::nullopt;
}

}  // namespace

TEST_CASE("a manifest made by hand from FORMAT.md is read") {
  Id128 id;
  const Manifest manifest = ManifestFromJson(TextWith(), "manifest.json", id);
  CHECK(manifest.name == "n");
  CHECK(manifest.samples == 2);
  CHECK(manifest.schema == Schema{{[] {
          Field field = Field::Image();
          field.role = Role::kNone;
          return field;
        }()}});
  CHECK(manifest.class_counts.empty());
  CHECK(manifest.made == R"({"by":"hand"})");
  REQUIRE(manifest.images.size() == 1);
  CHECK(manifest.images[0] == ImageFigures{.present = 2,
                                           .payload_bytes = 10,
                                           .max_payload_bytes = 9,
                                           .min_width = 3,
                                           .max_width = 4,
                                           .min_height = 1,
                                           .max_height = 2,
                                           .min_channels = 3,
                                           .max_channels = 3});
  REQUIRE(manifest.shards.size() == 1);
  const ManifestShard& shard = manifest.shards[0];
  CHECK(shard.file == "a.sluice");
  CHECK(ToHex(shard.digest) == "00000000000000000000000000000001");
  CHECK(ToHex(shard.id) == "00000000000000000000000000000002");
  CHECK(shard.samples == 2);
  CHECK(shard.blocks == 1);
  CHECK(shard.block_samples == 8);
  CHECK(shard.bytes == 12288);
}

TEST_CASE("a manifest survives its text form") {
  const test::ExampleDataset dataset = test::VariedExample();
  Manifest manifest = dataset.manifest;
  manifest.made = R"({"options":{"quality":90}})";
  manifest.schema.fields.push_back(Field::Label("class", {"a", "b", "c"}));
  manifest.class_counts = {5, 0, 7};
  for (const Field& field : manifest.schema.fields)
    if (HasValues(field)) manifest.values.push_back({3 + manifest.values.size(), 1'000, 900});
  REQUIRE_FALSE(manifest.values.empty());
  Id128 written, read;
  const Manifest back = ManifestFromJson(ManifestToJson(manifest, written), "m", read);
  CHECK(read == written);
  CHECK(back.name == manifest.name);
  CHECK(back.schema == manifest.schema);
  CHECK(back.samples == manifest.samples);
  CHECK(back.images == manifest.images);
  CHECK(back.values == manifest.values);
  CHECK(back.class_counts == manifest.class_counts);
  CHECK(back.made == manifest.made);
  CHECK(back.shards == manifest.shards);
}

TEST_CASE("a dataset may have no samples") {
  Manifest manifest;
  manifest.schema.fields = {Field::Bytes("text")};
  Id128 written, read;
  CHECK(ManifestFromJson(ManifestToJson(manifest, written), "m", read).shards.empty());
}

TEST_CASE("the id is the digest of everything after it") {
  const std::string text = TextWith();
  CHECK_FALSE(ManifestRefusal(text).has_value());
  // Changes the id's first or last digit, or a byte after the id.
  for (const std::size_t at :
       {std::size_t{7}, std::size_t{38}, text.find("\"n\"") + 1, text.size() - 3}) {
    std::string damaged = text;
    damaged[at] = damaged[at] == '1' ? '2' : '1';
    const auto error = ManifestRefusal(damaged);
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::kCorrupt);
  }
  CHECK(ManifestRefusal(text + "\n")->code() == ErrorCode::kCorrupt);
  CHECK(ManifestRefusal(text.substr(0, text.size() - 1))->code() == ErrorCode::kCorrupt);
}

TEST_CASE("a text that is not a manifest is refused") {
  for (const char* text : {"", "{}", "{\"id\":\"", "{ \"id\":\"00000000000000000000000000000000\"}",
                           "{\"id\":\"0000000000000000000000000000000G\"}"}) {
    const auto error = ManifestRefusal(text);
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::kCorrupt);
  }
  CHECK(CodeWith("sluice-dataset", "other") == ErrorCode::kCorrupt);
  CHECK(ManifestRefusal(Seal("\"}"))->code() == ErrorCode::kCorrupt);
  CHECK(ManifestRefusal(Seal("\"} trailing"))->code() == ErrorCode::kCorrupt);
}

TEST_CASE("a manifest of another version is unsupported, even if its digest is wrong") {
  std::string text = TextWith("\"version\":1", "\"version\":2");
  CHECK(ManifestRefusal(text)->code() == ErrorCode::kUnsupported);
  text[8] = text[8] == '1' ? '2' : '1';  // a digit of the id
  const auto error = ManifestRefusal(text);
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("version 2"));
}

TEST_CASE("nothing but the version is looked for in a manifest whose digest is wrong") {
  for (const std::string& to :
       {std::string(R"("version":1,"later":)") + std::string(40, '[') + std::string(40, ']'),
        std::string(R"("version":1,"requires":["telepathy"])"), std::string(R"("version":1)"),
        std::string(R"("later":{"version":2},"version":1)"), std::string(R"("version":"2")"),
        std::string(R"("version":1,,)"), std::string(R"("later":[)")}) {
    std::string text = TextWith(R"("version":1)", to);
    text[8] = text[8] == '1' ? '2' : '1';
    INFO(text);
    const auto error = ManifestRefusal(text);
    CHECK(error->code() == ErrorCode::kCorrupt);
    CHECK_THAT(error->sentence(), Catch::Matchers::StartsWith("its digest does not match"));
  }
}

TEST_CASE("a manifest that requires unknown features is unsupported, and the error names them") {
  const auto error =
      ManifestRefusal(TextWith("\"version\":1", R"("version":1,"requires":["telepathy"])"));
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("telepathy"));
  CHECK_FALSE(CodeWith("\"version\":1", R"("version":1,"requires":[])").has_value());
}

namespace {

constexpr const char* kColumnShard =
    R"({"block_samples":8,"blocks":1,"bytes":12288,"digest":"00000000000000000000000000000003",)"
    R"("file":"b.sluice","id":"00000000000000000000000000000004","samples":2})";

// A column with one field.
std::string ColumnWith(const std::string& field, const std::string& from = {},
                       const std::string& to = {}) {
  std::string column = R"({"schema":{"fields":[)" + field +
                       R"(]},"samples":2,"images":[],"values":[],"class_counts":[],"shards":[)" +
                       kColumnShard + "]}";
  if (from.empty()) return column;
  const std::size_t at = column.find(from);
  REQUIRE(at != std::string::npos);
  return column.replace(at, from.size(), to);
}

constexpr const char* kScore = R"({"kind":"array","name":"score","dtype":"float16","shape":[]})";

// TextWith() with more members.
std::string TextOf(const std::string& members) {
  return TextWith(R"("class_counts":[])", members + R"("class_counts":[],"values":[])");
}

std::optional<Error> RefusalOf(const std::string& members) {
  return ManifestRefusal(TextOf(members));
}

std::string WithColumns(const std::string& columns) {
  return R"("requires":["columns"],"columns":[)" + columns + "],";
}

}  // namespace

TEST_CASE("columns, dropped fields, deleted samples and the change are read, and written again") {
  Id128 id, again;
  const std::string change = R"("change":{"parent":"000000000000000000000000000000ff","samples":2,)"
                             R"("by":"sluice column add","note":"n"},)";
  const std::string text =
      TextOf(R"("requires":["columns","deleted"],"deleted":[[1,1]],"hidden":["score"],)" + change +
             R"("columns":[)" + ColumnWith(kScore) + "],");
  const Manifest manifest = ManifestFromJson(text, "m", id);
  REQUIRE(manifest.columns.size() == 1);
  CHECK(manifest.columns[0].schema.fields[0].dtype == DType::kFloat16);
  CHECK(manifest.columns[0].shards[0].file == "b.sluice");
  CHECK(manifest.hidden == std::vector<std::string>{"score"});
  CHECK(manifest.deleted == std::vector<DeletedRun>{{1, 1}});
  REQUIRE(manifest.change);
  CHECK(manifest.change->samples == 2);
  CHECK(manifest.change->note == "n");
  CHECK(manifest.unknown.empty());
  Id128 written;
  const Manifest back = ManifestFromJson(ManifestToJson(manifest, written), "m", again);
  CHECK(back.columns.size() == 1);
  CHECK(back.columns[0].shards == manifest.columns[0].shards);
  CHECK(back.hidden == manifest.hidden);
  CHECK(back.deleted == manifest.deleted);
  CHECK(back.change == manifest.change);
  CHECK(VisibleFields::Of(back).schema.fields.size() == 1);  // the image
}

TEST_CASE("a column's field takes the place of one with its name, and others follow") {
  Manifest manifest;
  manifest.schema.fields = {Field::Bytes("a"), Field::Array("b", DType::kInt8, {}),
                            Field::Bytes("c")};
  manifest.columns.resize(2);
  manifest.columns[0].schema.fields = {Field::Array("d", DType::kInt8, {}), Field::Bytes("b")};
  manifest.columns[1].schema.fields = {Field::Bytes("d"), Field::Bytes("e")};
  manifest.hidden = {"c"};
  const VisibleFields visible = VisibleFields::Of(manifest);
  std::string names;
  for (const Field& field : visible.schema.fields)
    names += field.name;
  CHECK(names == "abde");
  CHECK(visible.sources == std::vector<std::uint32_t>{0, 1, 2, 2});
  CHECK(visible.schema.fields[1].kind == FieldKind::kBytes);
}

TEST_CASE("members that old readers would ignore are refused without their feature") {
  for (const std::string& members :
       {"\"columns\":[" + ColumnWith(kScore) + "],", std::string(R"("hidden":["image"],)"),
        std::string(R"("deleted":[[0,1]],)"),
        std::string(R"("requires":["columns"],"deleted":[[0,1]],)"),
        std::string(R"("requires":["deleted"],"columns":[],)")}) {
    CAPTURE(members);
    const auto error = RefusalOf(members);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kCorrupt);
    CHECK(error->sentence().find("requires") != std::string::npos);
  }
  CHECK(RefusalOf(R"("requires":["columns","more"],)")->code() == ErrorCode::kUnsupported);
}

TEST_CASE("columns that do not fit the dataset are refused") {
  REQUIRE_FALSE(RefusalOf(WithColumns(ColumnWith(kScore))));
  const std::string mask = R"({"kind":"image","name":"mask","role":"mask","follows":"image"})";
  const std::string no_images = R"("images":[])";
  const std::string images = std::string(R"("images":[)") + kImages + "]";
  REQUIRE_FALSE(RefusalOf(WithColumns(ColumnWith(mask, no_images, images))));
  const std::string label =
      R"({"kind":"array","name":"l","dtype":"int8","shape":[],"role":"label","classes":["a"]})";
  const std::string second =
      R"({"kind":"array","name":"m","dtype":"int8","shape":[],"role":"label","classes":["b"]})";
  const std::string classes = R"("class_counts":[])";
  const std::string counts = R"("class_counts":[2])";
  REQUIRE_FALSE(RefusalOf(WithColumns(ColumnWith(label, classes, counts))));
  const std::string both = ColumnWith(label + "," + second, classes, counts);
  REQUIRE_FALSE(RefusalOf(WithColumns(both)));
  for (const std::string& members : {
           // a column in a column, and anything else that only a manifest has
           WithColumns(ColumnWith(kScore, R"("samples":2,)", R"("samples":2,"columns":[],)")),
           WithColumns(ColumnWith(kScore, R"("samples":2,)", R"("samples":2,"name":"n",)")),
           // other numbers of samples
           WithColumns(ColumnWith(kScore, R"("samples":2,)", R"("samples":3,)")),
           WithColumns(ColumnWith(kScore, R"("samples":2})", R"("samples":1})")),
           // a file named twice
           WithColumns(ColumnWith(kScore, "b.sluice", "a.sluice")),
           WithColumns(ColumnWith(kScore) + "," + ColumnWith(kScore)),
           // a file outside of the folder
           WithColumns(ColumnWith(kScore, "b.sluice", "../b.sluice")),
           // no sizes of values, or too few
           WithColumns(ColumnWith(R"({"kind":"bytes","name":"t"})")),
           WithColumns(ColumnWith(kScore, R"("values":[],)", "")) + R"("x":0,)",
           // an image that nobody has, and one that follows another
           WithColumns(ColumnWith(R"({"kind":"array","name":"s","dtype":"int8","shape":[],)"
                                  R"("follows":"nobody"})")),
           // a field in place of the image that another follows
           WithColumns(ColumnWith(mask, no_images, images) + "," +
                       ColumnWith(R"({"kind":"array","name":"image","dtype":"int8","shape":[]})",
                                  "b.sluice", "c.sluice")),
           // the classes that are counted are those of another label
           R"("hidden":["l"],)" + WithColumns(both),
           R"("hidden":["nobody"],)" + WithColumns(""),
           R"("hidden":["image","image"],)" + WithColumns(ColumnWith(kScore)),
           R"("hidden":["image"],)" + WithColumns(""),
           WithColumns("7"),
       }) {
    CAPTURE(members);
    const auto error = RefusalOf(members);
    if (members.find(R"("x":0)") != std::string::npos) {
      CHECK_FALSE(error);  // a column without such fields may leave the empty list out
      continue;
    }
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kCorrupt);
    CHECK(error->file() == "manifest.json");
  }
}

TEST_CASE("runs of deleted samples are in order, apart and inside the dataset") {
  const auto runs = [](const std::string& list) {
    return RefusalOf(R"("requires":["deleted"],"deleted":)" + list + ",");
  };
  CHECK_FALSE(runs("[[0,1]]"));
  CHECK_FALSE(runs("[[1,1]]"));
  for (const char* const list :
       {"[[0,3]]", "[[2,1]]", "[[0,0]]", "[[0,1],[1,1]]", "[[1,1],[0,1]]", "[[0,1],[0,1]]", "[[0]]",
        "[0]", "[[0,1,2]]", "[[-1,1]]", "[[18446744073709551615,1]]", "[[1,18446744073709551615]]",
        "{}"}) {
    CAPTURE(list);
    REQUIRE(runs(list));
    CHECK(runs(list)->code() == ErrorCode::kCorrupt);
  }
  const std::vector<DeletedRun> deleted = {{2, 2}, {7, 1}};
  std::string there;
  for (std::uint64_t sample = 0; sample < 10; ++sample)
    there += IsDeleted(deleted, sample) ? '.' : 'x';
  CHECK(there == "xx..xxx.xx");
}

TEST_CASE("unknown members are ignored, and written again") {
  const std::string text =
      TextWith(R"("made":{"by":"hand"},)", R"("made":{"by":"hand"},"later":[{"x":null}],)");
  Id128 id;
  Manifest manifest = ManifestFromJson(text, "manifest.json", id);
  CHECK(ManifestToJson(manifest, id).find(R"("later":[{"x":null}],)") != std::string::npos);
  CHECK_FALSE(CodeWith(R"("blocks":1)", R"("blocks":1,"later":true)").has_value());
  manifest.shards[0].unknown = R"({"later":true})";
  CHECK(ManifestFromJson(ManifestToJson(manifest, id), "manifest.json", id).shards ==
        manifest.shards);
}

TEST_CASE(
    "a manifest of a newer version is unsupported even if its shards cannot be read, wherever the "
    "version stands") {
  const std::string shards = std::string("\"shards\":[") + kShard + "]";
  std::string text = TextWith(shards, "\"shards\":[7,{\"parts\":[[1],{}]}]").substr(kRestAt);
  CHECK(ManifestRefusal(Seal(text))->code() == ErrorCode::kCorrupt);
  text.replace(text.find("\"version\":1,"), 12, "");
  text.replace(text.rfind('}'), 1, ",\"version\":2}");
  CHECK(ManifestRefusal(Seal(text))->code() == ErrorCode::kUnsupported);
}

TEST_CASE(
    "a \"shards\" inside another member stays there, and a member with an empty name is kept") {
  // JSON allows an empty name. A reader that took it for "no name yet" would lose the member, or
  // would take its list for the list of shards.
  const std::string made = R"("made":{"by":"hand","shards":[1,2]},"":[3,4],)";
  Id128 id;
  const Manifest manifest =
      ManifestFromJson(TextWith(R"("made":{"by":"hand"},)", made), "manifest.json", id);
  CHECK(manifest.made == R"({"by":"hand","shards":[1,2]})");
  CHECK(manifest.unknown == R"({"":[3,4]})");
  CHECK(manifest.shards.size() == 1);
}

TEST_CASE("metadata maps names to texts, and a `meta` of another form is an unknown member") {
  const auto read = [](const std::string& meta) {
    Id128 id;
    return ManifestFromJson(TextWith(R"("made":)", "\"meta\":" + meta + R"(,"made":)"),
                            "manifest.json", id);
  };
  const Manifest manifest = read(R"({"license":"MIT"})");
  CHECK(manifest.meta == Metadata{{"license", "MIT"}});
  CHECK(manifest.unknown.empty());
  Id128 id;
  CHECK(ManifestFromJson(ManifestToJson(manifest, id), "manifest.json", id).meta == manifest.meta);
  for (const char* const other : {R"({"a":1})", "[]", "\"MIT\"", R"({"":"x","license":"MIT"})"}) {
    CHECK(read(other).meta.empty());
    CHECK(read(other).unknown == std::string(R"({"meta":)") + other + "}");
    Manifest changed = read(other);
    changed.meta = {{"license", "MIT"}};  // replaces the unknown "meta"
    const Manifest again = ManifestFromJson(ManifestToJson(changed, id), "manifest.json", id);
    CHECK(again.meta == changed.meta);
    CHECK(again.unknown.empty());
  }
}

TEST_CASE("a shard's file name cannot lead out of the dataset's folder") {
  for (const char* name : {"", ".", "..", "../a.sluice", "/etc/passwd", "b/../../a", "sub/a.sluice",
                           ".hidden", "a\\u0000b"}) {
    INFO(name);
    CHECK(CodeWith("\"a.sluice\"", "\"" + std::string(name) + "\"") == ErrorCode::kCorrupt);
  }
  CHECK(CodeWith("a.sluice", std::string(256, 'a')) == ErrorCode::kCorrupt);
  CHECK_FALSE(CodeWith("a.sluice", std::string(255, 'a')).has_value());
  CHECK_FALSE(CodeWith("a.sluice", "a..b").has_value());
}

TEST_CASE("counts that contradict each other are refused") {
  CHECK(CodeWith(R"("samples":2,"schema")", R"("samples":3,"schema")") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("blocks":1)", R"("blocks":2)") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("samples":2})", R"("samples":0})") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("block_samples":8)", R"("block_samples":0)") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("block_samples":8)", R"("block_samples":65537)") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("bytes":12288)", R"("bytes":128000001)") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("bytes":12288)", R"("bytes":-1)") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("bytes":12288)", R"("bytes":1.5)") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("bytes":12288)", R"("bytes":99999999999999999999999)") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("width":[3,4])", R"("width":[4,3])") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("width":[3,4])", R"("width":[3])") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("width":[3,4])", R"("width":[3,65536])") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("kind":"image")", R"("kind":"bytes")") ==
        ErrorCode::kCorrupt);  // no image field, but one entry in "images"
}

TEST_CASE("the error about a malformed number or id names the member, and the shard's file") {
  const auto told = [](const std::string& from, const std::string& to, const std::string& what) {
    CHECK_THAT(ManifestRefusal(TextWith(from, to))->what(),
               Catch::Matchers::ContainsSubstring(what));
  };
  told(R"("bytes":12288)", R"("bytes":128004096)",
       "\"bytes\" of a.sluice is not a whole number from 0 to 128000000");
  told(R"("samples":2,"schema")", R"("samples":2.0,"schema")",
       "\"samples\" is not a whole number from 0 to 281474976710656");
  told(R"("height":[1,2])", R"("height":[1,65536])",
       "\"height\" is not a whole number from 0 to 65535");
  told(R"("width":[3,4])", R"("width":[4,3])", "\"width\" ends before it begins");
  told(R"(00002","samples")", R"(0000X","samples")",
       "\"id\" of a.sluice is not 32 lower-case hexadecimal digits");
}

TEST_CASE("a shard that claims to hold more samples than its size allows is refused") {
  // The header and two blocks take at least three pages: 8192 bytes are too few.
  const auto refusal = ManifestRefusal(TextWith(R"("block_samples":8,"blocks":1,"bytes":12288)",
                                                R"("block_samples":1,"blocks":2,"bytes":8192)"));
  REQUIRE(refusal.has_value());
  CHECK(refusal->code() == ErrorCode::kCorrupt);
  CHECK_THAT(refusal->sentence(), Catch::Matchers::ContainsSubstring("a.sluice"));
  CHECK_FALSE(CodeWith(R"("block_samples":8,"blocks":1,"bytes":12288)",
                       R"("block_samples":1,"blocks":2,"bytes":12288)")
                  .has_value());
  // Three pages cannot hold 65,536 rows of 40 bytes.
  CHECK(ManifestRefusal(
            Seal(std::string(
                     R"(","format":"sluice-dataset","version":1,"name":"n","samples":65536,)") +
                 R"("schema":{"fields":[{"kind":"image","name":"image"}]},"images":[)" + kImages +
                 R"(],"class_counts":[],"made":{},"shards":[{"block_samples":65536,"blocks":1,)" +
                 R"("bytes":12288,"digest":"00000000000000000000000000000001","file":"a.sluice",)" +
                 R"("id":"00000000000000000000000000000002","samples":65536}]})"))
            .has_value());
}

TEST_CASE("counts of values are read for each field that has values, and refused if impossible") {
  const std::string from = R"({"kind":"image","name":"image"}]},)";
  const auto with = [&](const std::string& values) {
    return TextWith(
        from, R"({"kind":"image","name":"image"},{"kind":"bytes","name":"text"}]},"values":)" +
                  values + ",");
  };
  Id128 id;
  const Manifest manifest =
      ManifestFromJson(with(R"([{"bytes":12,"max_bytes":7,"present":2}])"), "manifest.json", id);
  CHECK(manifest.values == std::vector<ManifestValues>{{2, 12, 7}});
  CHECK(ManifestFromJson(TextWith(), "manifest.json", id).values.empty());
  for (const char* values :
       {"[]", "{}", "null", R"([{"bytes":12,"max_bytes":7}])",
        R"([{"bytes":12,"max_bytes":1073741825,"present":2}])",
        R"([{"bytes":6,"max_bytes":7,"present":2}])", R"([{"bytes":15,"max_bytes":7,"present":2}])",
        R"([{"bytes":1,"max_bytes":1,"present":0}])", R"([{"bytes":3,"max_bytes":1,"present":3}])",
        R"([{"bytes":1,"max_bytes":1,"present":1},)"
        R"({"bytes":1,"max_bytes":1,"present":1}])"}) {
    INFO(values);
    CHECK(ManifestRefusal(with(values))->code() == ErrorCode::kCorrupt);
  }
}

TEST_CASE(
    "class counts are those of the first label that is one integer and has classes, and of no "
    "other") {
  const auto with = [](const std::string& fields, const std::string& counts) {
    std::string text = TextWith(R"({"kind":"image","name":"image"})",
                                R"({"kind":"image","name":"image"},)" + fields);
    text = text.substr(kRestAt);
    text.replace(text.find(R"("class_counts":[])"), 17, R"("class_counts":)" + counts);
    return ManifestRefusal(Seal(text));
  };
  const std::string of_boxes =
      R"({"kind":"variable","name":"b","role":"label","dtype":"int32","shape":[],"classes":["x"]})";
  const std::string scalar =
      R"({"kind":"array","name":"l","role":"label","dtype":"int32","shape":[],"classes":["x","y"]})";
  const std::string fraction =
      R"({"kind":"array","name":"f","role":"label","dtype":"float32","shape":[],"classes":["x"]})";
  CHECK_FALSE(with(scalar, "[1,1]").has_value());
  CHECK_FALSE(with(of_boxes + "," + fraction + "," + scalar, "[1,0]").has_value());
  CHECK_FALSE(with(of_boxes + "," + fraction, "[]").has_value());
  CHECK(with(of_boxes, "[1]")->code() == ErrorCode::kCorrupt);
  CHECK(with(scalar, "[]")->code() == ErrorCode::kCorrupt);
  CHECK(with(scalar, "[1,1,0]")->code() == ErrorCode::kCorrupt);
  CHECK(with(scalar, "[1,2]")->code() == ErrorCode::kCorrupt);  // the dataset has two samples
  CHECK(with(scalar, "[281474976710656,1]")->code() == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("class_counts":[])", R"("class_counts":[2])") == ErrorCode::kCorrupt);
}

TEST_CASE("impossible sums over images and values are refused") {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("present":2)", R"("present":3)"},            // more than samples
           {R"("present":2)", R"("present":0)"},            // a size without images
           {R"("width":[3,4])", R"("width":[0,4])"},        //
           {R"("height":[1,2])", R"("height":[0,2])"},      //
           {R"("channels":[3,3])", R"("channels":[0,3])"},  //
           {R"("channels":[3,3])", R"("channels":[3,65])"},
           {R"("channels":[3,3])", R"("channels":[3,3,3])"},
           {R"("width":[3,4])", R"("width":{"0":3,"1":4})"},
           {R"("pixel_type":"uint8")", R"("pixel_type":"int8")"},
           {R"("payload_bytes":10)", R"("payload_bytes":8)"},   // less than the largest payload
           {R"("payload_bytes":10)", R"("payload_bytes":19)"},  // more than two of 9 bytes
           {R"("max_payload_bytes":9)", R"("max_payload_bytes":120000001)"},
           {R"("height":[1,2],)", ""}}) {
    INFO(from << " -> " << to);
    CHECK(CodeWith(from, to) == ErrorCode::kCorrupt);
  }
  CHECK(CodeWith(R"("width":[3,4])", R"("width":[65535,65535])") == std::nullopt);
  CHECK(
      ManifestRefusal(TextWith(R"("height":[1,2],"max_payload_bytes":9,"payload_bytes":10,)"
                               R"("pixel_type":"uint8","present":2,"width":[3,4])",
                               R"("height":[65535,65535],"max_payload_bytes":9,"payload_bytes":10,)"
                               R"("pixel_type":"uint8","present":2,"width":[65535,65535])"))
          ->code() == ErrorCode::kCorrupt);  // more than 2^28 pixels
}

TEST_CASE("a manifest that names a shard's file twice is refused") {
  std::string text = TextWith(R"("samples":2,"schema")", R"("samples":4,"schema")").substr(kRestAt);
  text.replace(text.find(kShard), std::string(kShard).size(), std::string(kShard) + "," + kShard);
  const auto refusal = ManifestRefusal(Seal(text));
  REQUIRE(refusal.has_value());
  CHECK_THAT(refusal->sentence(), Catch::Matchers::ContainsSubstring("a.sluice twice"));
}

TEST_CASE("errors about an unreadable manifest do not quote the JSON library") {
  for (const char* text :
       {"\"} trailing", "\",\"format\":\"sluice-dataset\",\"version\":1}", "\",}"}) {
    const std::string what = ManifestRefusal(Seal(text))->what();
    INFO(what);
    CHECK(what.find("json.exception") == std::string::npos);
    CHECK(what.find("parse error") == std::string::npos);
  }
  CHECK_THAT(ManifestRefusal(Seal("\"} trailing"))->what(),
             Catch::Matchers::ContainsSubstring("cannot be read: it is not JSON from byte "));
}

TEST_CASE("a JSON number that no double holds is named as one, with its place") {
  CHECK(JsonFault("[1, 1e999]") ==
        "has a number that is too large for 64 bits (1e999), up to byte 9");
  const std::string digits(400, '9');
  CHECK_THAT(JsonFault(digits), Catch::Matchers::ContainsSubstring("too large for 64 bits (999") &&
                                    !Catch::Matchers::ContainsSubstring("not JSON"));
  CHECK(JsonFault("99999999999999999999").empty());  // a double holds 1e20
  CHECK(JsonFault("[1, x]") == "is not JSON from byte 5 on");
}

TEST_CASE("members of the wrong kind are refused") {
  CHECK(CodeWith("\"shards\":[", "\"shards\":{\"a\":[") == ErrorCode::kCorrupt);
  const std::string shards = std::string("\"shards\":[") + kShard + "]";
  CHECK(CodeWith(shards, "\"shards\":{\"a\":" + std::string(kShard) + "}") == ErrorCode::kCorrupt);
  CHECK(CodeWith(shards, "\"shards\":null") == ErrorCode::kCorrupt);
  CHECK(CodeWith("\"class_counts\":[]", "\"class_counts\":1") == ErrorCode::kCorrupt);
  CHECK(CodeWith(R"("made":{"by":"hand"})", "\"made\":[]") == ErrorCode::kCorrupt);
  CHECK(CodeWith("\"name\":\"n\",", "\"name\":1,") == ErrorCode::kCorrupt);
  CHECK(CodeWith("\"name\":\"n\",", "") == ErrorCode::kCorrupt);
}

TEST_CASE("an unknown kind of field makes the dataset unsupported") {
  CHECK(CodeWith(R"("kind":"image")", R"("kind":"video")") == ErrorCode::kUnsupported);
}

TEST_CASE("more than a million shards are beyond the limit") {
  std::string list = "\"shards\":[0";
  for (std::uint64_t i = 0; i < kMaxShards; ++i)
    list += ",0";
  CHECK(CodeWith(std::string("\"shards\":[") + kShard, list) == ErrorCode::kLimit);
}

TEST_CASE("a manifest with millions of nested arrays is refused") {
  const std::string deep = std::string(3'000'000, '[') + std::string(3'000'000, ']');
  CHECK(CodeWith(R"({"by":"hand"})", R"({"by":)" + deep + "}") == ErrorCode::kCorrupt);
  CHECK(CodeWith("\"version\":1", "\"version\":1,\"requires\":" + deep) == ErrorCode::kCorrupt);
}

TEST_CASE("a folder without a manifest is unfinished, not a dataset, or missing") {
  const test::TemporaryFolder folder;
  Id128 id;
  CHECK(test::CodeOf([&] { ReadManifest(folder.path(), id); }) == ErrorCode::kNotFound);
  CHECK(test::CodeOf([&] { ReadManifest(folder / "none", id); }) == ErrorCode::kNotFound);
  WriteFile(folder / kPlanName, AsBytes("{}"));
  const auto error = test::ErrorOf([&] { ReadManifest(folder.path(), id); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kUnfinished);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("again"));
  WriteFile(folder / kManifestName, AsBytes(TextWith()));
  CHECK(ReadManifest(folder.path(), id).samples == 2);
}

TEST_CASE("summaries of image fields are gathered over samples and parts") {
  ImageFigures one, two, all;
  one.Add(FiguresOf(10, 20, 3, PixelType::kUint8, 100));
  one.Add(FiguresOf(5, 30, 1, PixelType::kUint8, 50));
  two.Add(FiguresOf(7, 7, 3, PixelType::kUint16, 500));
  all.Add(one);
  all.Add(two);
  all.Add(ImageFigures{});
  CHECK(all == ImageFigures{.present = 3,
                            .payload_bytes = 650,
                            .max_payload_bytes = 500,
                            .min_width = 5,
                            .max_width = 10,
                            .min_height = 7,
                            .max_height = 30,
                            .min_channels = 1,
                            .max_channels = 3,
                            .pixel_type = PixelType::kUint16});
}

}  // namespace sluice
