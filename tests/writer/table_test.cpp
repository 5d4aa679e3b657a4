// Conversions of the images that a table names.
#include <set>

#include <sluice/convert.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/working_directory.h"
#include "tests/writer/converted.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"
#include "writer/source/list/class_names.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

struct TableFolder {
  TemporaryFolder folder;
  TableFolder() {
    for (const char* name : {"a.jpg", "b.jpg", "deep/c.jpg"})
      WriteSource(folder / "images" / name, MakeJpeg(MakePicture(60, 40)));
  }
  // Writes a table next to the images, and returns it as a source with `columns`.
  ConvertSource Table(const std::string& name, const std::string& text,
                      std::vector<Column> columns = {}) const {
    WriteSource(folder / "images" / name, text);
    ConvertSource source = ConvertSource::Table(folder / "images" / name);
    source.rows.columns = std::move(columns);
    return source;
  }
  ConvertSummary Convert(const ConvertSource& source) const {
    ConvertOptions options;
    options.shards.keep_order = true;
    return ConvertBothWays(source, folder / "data", options);
  }
  StoredDataset Data() const { return ReadDataset(folder / "data"); }
};

template <class T>
std::vector<T> ValuesOf(const StoredField& field) {
  std::vector<T> values(field.bytes.size() / sizeof(T));
  std::memcpy(values.data(), field.bytes.data(), values.size() * sizeof(T));
  return values;
}

std::string TextOf(const StoredField& field) {
  return std::string(AsText(field.bytes));
}

}  // namespace

TEST_CASE("A name that two given classes have means neither, and the others keep their numbers") {
  ClassNames names({"crane", "dog", "crane", "cat"});  // as ImageNet's crane
  CHECK(names.Add("dog") == 1);
  CHECK(names.Add("cat") == 3);
  CHECK_FALSE(names.Add("crane"));
  CHECK(names.Add("2") == 2);  // its number is not ambiguous
  CHECK(names.NumberOf(3) == 3);
}

TEST_CASE("without labels a table's label is not used, and it cannot have a column of classes") {
  const TableFolder folders;
  ConvertSource source = folders.Table("t.csv", "path,label,caption\na.jpg,dog,one\nb.jpg,,two\n");
  source.label.store = false;
  const ConvertSummary summary = folders.Convert(source);
  CHECK(summary.samples == 2);
  CHECK(summary.warnings.empty());
  const StoredDataset data = folders.Data();
  REQUIRE(data.manifest.schema.fields.size() == 2);
  CHECK(TextOf(data.Find("b.jpg").fields[1]) == "two");
  for (const ColumnType type :
       {ColumnType::kClass, ColumnType::kClasses, ColumnType::kBoxClasses}) {
    source.rows.columns = {{"label", type}};
    const auto error = ErrorOf([&] { folders.Convert(source); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kInvalidArgument);
    CHECK_THAT(error->sentence(), ContainsSubstring("\"label\" holds classes"));
  }
}

TEST_CASE("a table's rows become samples, with the usual columns if no column is named") {
  const TableFolder folders;
  const ConvertSummary summary = folders.Convert(folders.Table(
      "t.csv", "path,label,caption,width\ndeep/c.jpg,dog,one,60\n./a.jpg,cat,\"two, three\",60\n"));
  CHECK(summary.samples == 2);
  CHECK(summary.classes == std::vector<std::string>{"cat", "dog"});
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] == "columns not used: width");
  const StoredDataset data = folders.Data();
  CHECK(data.Keys() == std::vector<std::string>{"deep/c.jpg", "a.jpg"});  // in the table's order
  CHECK(data.samples[0].Label() == 1);
  CHECK(data.samples[1].Label() == 0);
  CHECK(TextOf(data.samples[1].fields[2]) == "two, three");
  CHECK(data.manifest.schema.fields[2].role == Role::kText);
  CHECK(data.manifest.class_counts == std::vector<std::uint64_t>{1, 1});
}

TEST_CASE(
    "a table's paths find files whose names differ in case, in the ending or in Unicode's form") {
  const TableFolder folders;
  const FileBytes jpeg = MakeJpeg(MakePicture(60, 40));
  WriteSource(folders.folder / "images/Cafe\xcc\x81/1.JPG", jpeg);  // e, then an acute
  WriteSource(folders.folder / "images/\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab.png",
              MakePng(MakePicture(60, 40)));  // the syllable "han" in three letters
  const ConvertSummary summary = folders.Convert(
      folders.Table("t.csv",
                    "path,text\nA.JPEG,one\nDeep/C.jpg,two\ncaf\xc3\xa9/1.jpg,three\n"
                    "\xed\x95\x9c.jpg,four\nb.jpg,five\nd.jpg,six\n"));
  CHECK(summary.samples == 5);
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] ==
        "4 paths do not exist as written, and were taken for others, such as A.JPEG, which is "
        "a.jpg");
  CHECK(folders.Data().Keys() ==
        std::vector<std::string>{"a.jpg", "deep/c.jpg", "Cafe\xcc\x81/1.JPG",
                                 "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab.png", "b.jpg"});
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].path, ContainsSubstring("d.jpg"));
}

TEST_CASE("a table in the working directory, named without a folder, finds names in another case") {
  const TableFolder folders;
  ConvertSource source = folders.Table("t.csv", "path,text\nA.JPEG,one\n");
  const WorkingDirectory inside(folders.folder / "images");
  source.table = "t.csv";
  CHECK(folders.Convert(source).samples == 1);
}

TEST_CASE("a table's masks are found like its images, unless another row names the file") {
  const TableFolder folders;
  for (const char* name : {"a.PNG", "Cafe\xcc\x81.png", "deep/C.png", "d.png"}) {
    WriteSource(folders.folder / "images/masks" / name,
                MakePng(60, 40, std::vector<std::uint8_t>(2400), {.color_type = 0}));
  }
  for (const char* name : {"d.jpg", "e.jpg"})
    WriteSource(folders.folder / "images" / name, MakeJpeg(MakePicture(60, 40)));
  const ConvertSummary summary = folders.Convert(
      folders.Table("t.csv",
                    "path,m\na.jpg,masks/A.png\nb.jpg,masks/caf\xc3\xa9.png\n"
                    "deep/c.jpg,masks\\deep\\C.png\nd.jpg,masks/d.png\ne.jpg,masks/D.png\n",
                    {{"m", ColumnType::kMask}}));
  CHECK(folders.Data().Keys() == std::vector<std::string>{"a.jpg", "b.jpg", "deep/c.jpg", "d.jpg"});
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "e.jpg");
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("masks/D.png"));
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] ==
        "3 paths do not exist as written, and were taken for others, such as masks/A.png, which is "
        "masks/a.PNG");
}

TEST_CASE("if the names of several files are like a path, none of the files is taken") {
  const TableFolder folders;
  WriteSource(folders.folder / "images/A.jpg", MakeJpeg(MakePicture(60, 40)));
  const ConvertSummary summary =
      folders.Convert(folders.Table("t.csv", "path,text\na.JPG,one\nb.jpg,two\na.jpg,three\n"));
  CHECK(folders.Data().Keys() == std::vector<std::string>{"b.jpg", "a.jpg"});
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("may be "));
}

TEST_CASE("a path that does not exist is not taken for a file that another row names") {
  const TableFolder folders;
  WriteSource(folders.folder / "images/c.png", MakeJpeg(MakePicture(60, 40)));
  const ConvertSummary summary =
      folders.Convert(folders.Table("t.csv", "path,text\nC.PNG,one\nc.jpg,two\nc.png,three\n"));
  CHECK(folders.Data().Keys() == std::vector<std::string>{"c.png"});
  REQUIRE(summary.skipped.size() == 2);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("No such file"));
}

TEST_CASE("a given class may begin or end with a space, and other names are trimmed") {
  const TableFolder folders;
  ConvertSource source =
      folders.Table("t.csv", "path,label\na.jpg, lead\nb.jpg,\"trail \"\ndeep/c.jpg, plain \n");
  source.label.classes = {" lead", "plain", "trail "};
  const ConvertSummary summary = folders.Convert(source);
  CHECK(summary.skipped.empty());
  CHECK(summary.class_counts == std::vector<std::uint64_t>{1, 1, 1});
}

TEST_CASE("members that only later objects of a .jsonl file have are read as well") {
  const TableFolder folders;
  const ConvertSummary summary =
      folders.Convert(folders.Table("t.jsonl", R"({"path":"a.jpg"})"
                                               "\n"
                                               R"({"path":"b.jpg","label":"cat","caption":"a cat"})"
                                               "\n"));
  REQUIRE(summary.samples == 1);
  CHECK(summary.skipped.at(0).reason == "t.jsonl, line 1: column label: has no value");
  CHECK(TextOf(folders.Data().samples[0].fields.at(1)) ==
        "a cat");  // "caption" comes before "label"
}

TEST_CASE("an image that several rows name becomes several samples, with a warning") {
  const TableFolder folders;
  const ConvertSummary summary =
      folders.Convert(folders.Table("t.csv", "path,text\na.jpg,one\nb.jpg,two\n./a.jpg,three\n"));
  CHECK(summary.samples == 3);
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] ==
        "an image is listed more than once, such as a.jpg; each occurrence becomes a sample");
}

TEST_CASE("a warning names unused columns, also if others are requested by name") {
  const TableFolder folders;
  ConvertSource source = folders.Table("t.csv", "path,label,kids,\na.jpg,dog,2,x\nb.jpg,cat,1,y\n",
                                       {{"kids", ColumnType::kClass}});
  CHECK(folders.Convert(source).warnings.at(0) == "columns not used: label");
}

TEST_CASE("classes that are whole numbers keep their numbers") {
  const TableFolder folders;
  const ConvertSummary summary =
      folders.Convert(folders.Table("t.tsv", "file\tclass\na.jpg\t3\nb.jpg\t1\n"));
  CHECK(summary.classes == std::vector<std::string>{"0", "1", "2", "3"});
  CHECK(folders.Data().samples[0].Label() == 3);
  CHECK(summary.class_counts == std::vector<std::uint64_t>{0, 1, 0, 1});
}

TEST_CASE(
    "classes can be given beforehand, and the reason why another class's row is left out names its "
    "line") {
  const TableFolder folders;
  ConvertSource source =
      folders.Table("t.csv", "path,label\na.jpg,dog\nb.jpg,owl\ndeep/c.jpg,cat\n");
  source.label.classes = {"horse", "dog", "cat"};
  const ConvertSummary summary = folders.Convert(source);
  CHECK(summary.classes == source.label.classes);
  CHECK(folders.Data().samples[0].Label() == 1);
  CHECK(folders.Data().samples[1].Label() == 2);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "b.jpg");
  CHECK(summary.skipped[0].reason ==
        "t.csv, line 3: column label: \"owl\" is not one of the given classes");
}

TEST_CASE("every column of classes can have names of its own, and --classes names the first") {
  const TableFolder folders;
  ConvertSource source =
      folders.Table("t.csv", "path,tags,more\na.jpg,b|c,x\nb.jpg,c,y\n",
                    {{"tags", ColumnType::kClasses}, {"more", ColumnType::kClass}});
  source.rows.columns[0].classes = {"c", "unused", "b"};
  source.label.classes = {"y", "x"};
  folders.Convert(source);
  const StoredDataset data = folders.Data();
  CHECK(data.manifest.schema.fields[1].classes == source.rows.columns[0].classes);
  CHECK(data.manifest.schema.fields[2].classes == source.label.classes);
  CHECK(ValuesOf<std::int32_t>(data.samples[0].fields[1]) == std::vector<std::int32_t>{2, 0});
  CHECK(ValuesOf<std::int32_t>(data.samples[0].fields[2]) == std::vector<std::int32_t>{1});

  const TableFolder others;
  source = others.Table("t.csv", "path,more\na.jpg,x\n", {{"more", ColumnType::kClasses}});
  source.label.classes = {"y", "x"};
  others.Convert(source);
  CHECK(others.Data().manifest.schema.fields[1].classes == source.label.classes);
  source.rows.columns = {{"more", ColumnType::kText}};
  source.rows.columns[0].classes = {"x"};
  CHECK_THAT(ErrorOf([&] { others.Convert(source); })->sentence(),
             ContainsSubstring("takes no classes"));
}

TEST_CASE("label.classes_of numbers every column like the dataset's field of its name") {
  const TableFolder folders;
  const std::vector<Column> columns = {{"label", ColumnType::kClass},
                                       {"tags", ColumnType::kClasses},
                                       {"box", ColumnType::kBoxes},
                                       {"name", ColumnType::kBoxClasses}};
  folders.Convert(folders.Table("train.csv",
                                "path,label,tags,box,name\n"
                                "a.jpg,fox,x|y,1 1 2 2 3 3 4 4,cat|dog\nb.jpg,hen,z,,\n",
                                columns));
  ConvertSource val =
      folders.Table("val.csv", "path,label,tags,box,name\na.jpg,hen,z,1 1 2 2,dog\n", columns);
  val.label.classes_of = folders.folder / "data";
  sluice::Convert(val, folders.folder / "val");
  const StoredDataset data = ReadDataset(folders.folder / "val");
  const std::vector<Field>& fields = data.manifest.schema.fields;
  CHECK(fields[1].classes == std::vector<std::string>{"fox", "hen"});
  CHECK(fields[2].classes == std::vector<std::string>{"x", "y", "z"});
  CHECK(fields[4].classes == std::vector<std::string>{"cat", "dog"});
  const auto numbers = [&](std::size_t field) {
    return ValuesOf<std::int32_t>(data.samples.at(0).fields[field]);
  };
  CHECK(numbers(1) == std::vector<std::int32_t>{1});
  CHECK(numbers(2) == std::vector<std::int32_t>{2});
  CHECK(numbers(4) == std::vector<std::int32_t>{1});
}

TEST_CASE("a split by a column puts values that mean the same into one part") {
  const TableFolder folders;
  // Pairs of equal numbers, of names in another case, and of names with composed and decomposed
  // accents.
  const std::vector<std::string> values = {
      "7",  "7.0", "0008", "8",    "-9",         "-9.00",       "P1",  "p1",
      "P2", "p2 ", "0",    "-0.0", "Zo\xc3\xa9", "Zoe\xcc\x81", "1e3", "1000"};
  std::string text = "path,key,patient\n";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += "a.jpg," + std::to_string(i) + "," + values[i] + "\n";
  ConvertSource source = folders.Table("t.csv", text);
  source.split.by = "patient";
  source.split.end = 0.5;
  CHECK(Convert(source, folders.folder / "half").samples == values.size() / 2);
  std::set<std::size_t> pairs;
  for (const StoredSample& sample : ReadDataset(folders.folder / "half").samples)
    pairs.insert(std::stoul(sample.key) / 2);
  CHECK(pairs.size() == values.size() / 4);
}

TEST_CASE("NaN in a line of JSON is a missing value, and loses no picture if it is not used") {
  const TableFolder folders;
  const ConvertSummary summary = folders.Convert(folders.Table(
      "t.jsonl",
      R"({"path":"a.jpg","label":"cat","s":NaN,"t":"NaN \" -Infinity","m":[1,-Infinity]})"
      "\n"
      R"({"path":"b.jpg","label":NaN})"
      "\n",
      {{"label", ColumnType::kClass}, {"t", ColumnType::kText}, {"m", ColumnType::kJson}}));
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].reason == "t.jsonl, line 2: column label: has no value");
  const StoredDataset data = folders.Data();
  CHECK(AsText(data.samples.at(0).fields[2].bytes) == "NaN \" -Infinity");
  CHECK(AsText(data.samples.at(0).fields[3].bytes) == "[1,null]");
}

TEST_CASE("columns of every type are stored as their fields") {
  const TableFolder folders;
  folders.Convert(folders.Table(
      "t.jsonl",
      R"({"path":"a.jpg","tags":["red","round"],"n":-7,"x":0.5,"v":[1,2,3],"m":{"k":[1]},"t":"hi"})"
      "\n"
      R"({"path":"b.jpg","tags":[],"n":9007199254740993,"x":"2.5","v":"4 5 6","m":null,"t":null})"
      "\n",
      {{"tags", ColumnType::kClasses},
       {"n", ColumnType::kInt},
       {"x", ColumnType::kFloat, "target"},
       {"v", ColumnType::kFloats},
       {"m", ColumnType::kJson},
       {"t", ColumnType::kText}}));
  const StoredDataset data = folders.Data();
  const std::vector<Field>& fields = data.manifest.schema.fields;
  REQUIRE(fields.size() == 7);
  CHECK(fields[1].classes == std::vector<std::string>{"red", "round"});
  CHECK(fields[3].name == "target");
  CHECK(fields[4].shape == std::vector<std::uint32_t>{3});
  const StoredSample& a = data.samples[0];
  CHECK(ValuesOf<std::int32_t>(a.fields[1]) == std::vector<std::int32_t>{0, 1});
  CHECK(ValuesOf<std::int64_t>(a.fields[2]) == std::vector<std::int64_t>{-7});
  CHECK(ValuesOf<float>(a.fields[3]) == std::vector<float>{0.5F});
  CHECK(ValuesOf<float>(a.fields[4]) == std::vector<float>{1, 2, 3});
  CHECK(TextOf(a.fields[5]) == "{\"k\":[1]}");
  CHECK(TextOf(a.fields[6]) == "hi");
  const StoredSample& b = data.samples[1];
  CHECK(b.fields[1].codec == Codec::kRaw);  // an empty list, which differs from an absent one
  CHECK(b.fields[1].bytes.empty());
  CHECK(ValuesOf<std::int64_t>(b.fields[2]) == std::vector<std::int64_t>{9007199254740993});
  CHECK(ValuesOf<float>(b.fields[4]) == std::vector<float>{4, 5, 6});
  CHECK(b.fields[5].codec == Codec::kAbsent);
  CHECK(b.fields[6].codec == Codec::kAbsent);
}

TEST_CASE("incomplete rows are left out, and the reasons name their lines") {
  const TableFolder folders;
  const ConvertSummary summary = folders.Convert(folders.Table(
      "t.csv",
      "path,n,v,b\na.jpg,1,1 2,1 2 3 4\nb.jpg,one,1 2,\n,1,1 2,\n../t.csv,1,1 2,\n"
      "gone.jpg,1,1 2,\nb.jpg,,1 2,\nb.jpg,1,1 2 3,\nb.jpg,1,1 2,1 2 3\nt.csv,1,1 2,\n",
      {{"n", ColumnType::kInt}, {"v", ColumnType::kFloats}, {"b", ColumnType::kBoxes}}));
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 8);
  std::string reasons;
  for (const LeftOut& row : summary.skipped)
    reasons += row.reason + "\n";
  for (const char* reason :
       {"line 3: column n: \"one\" is not a whole number", "line 4: the path is empty",
        "line 5: the path does not lie below", "line 6: its image cannot be opened: No such file",
        "line 7: column n: has no value", "line 8: column v: there are 3 numbers instead of 2",
        "line 9: column b: a box has four numbers", "line 10: the file is not an image"}) {
    CHECK_THAT(reasons, ContainsSubstring(reason));
  }
}

TEST_CASE("a table without the requested columns is refused, naming those it has") {
  const TableFolder folders;
  const auto refusal = [&](const std::string& text, std::vector<Column> columns) {
    const auto error =
        ErrorOf([&] { folders.Convert(folders.Table("t.csv", text, std::move(columns))); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kInvalidArgument);
    return error->sentence();
  };
  CHECK_THAT(refusal("x,y\na.jpg,1\n", {}), ContainsSubstring("x, y"));
  CHECK_THAT(refusal("path,y\na.jpg,1\n", {{"z", ColumnType::kText}}),
             ContainsSubstring("no column \"z\"; it has: path, y"));
  CHECK_THAT(refusal("path,weight\na.jpg,1\n", {{"Weigth", ColumnType::kFloat}}),
             ContainsSubstring("no column \"Weigth\"; did you mean \"weight\"?"));
  CHECK_THAT(refusal("path,y\na.jpg,1\n", {{"y", ColumnType::kBoxClasses}}),
             ContainsSubstring("needs a column of type boxes"));
  CHECK_THAT(refusal("path,y\na.jpg,1\n", {{"y", ColumnType::kText}, {"y", ColumnType::kJson}}),
             ContainsSubstring("y"));
}

TEST_CASE("a cell that is not a number is quoted whole") {
  const TableFolder folders;
  const ConvertSummary summary = folders.Convert(folders.Table(
      "t.csv", "path,x\na.jpg,1\nb.jpg,Not sure\ndeep/c.jpg,no\n", {{"x", ColumnType::kFloat}}));
  REQUIRE(summary.skipped.size() == 2);
  CHECK(summary.passed_over.empty());  // an image whose row is left out has a row
  CHECK_THAT(summary.skipped[0].reason,
             ContainsSubstring("\"Not sure\" has \"Not\", which is not a number"));
  CHECK_THAT(summary.skipped[1].reason, ContainsSubstring("\"no\" is not a number"));
}

TEST_CASE("a file that is given as a folder is refused with the functions that take files") {
  const TableFolder folders;
  const auto error = ErrorOf([&] { folders.Convert({folders.folder / "images/a.jpg"}); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kInvalidArgument);
  CHECK_THAT(error->sentence(), ContainsSubstring("to ConvertSource::Archives(), and a table to "
                                                  "ConvertSource::Table()"));
}

TEST_CASE("images next to those of a table that have no row are listed as passed over") {
  const TableFolder folders;
  WriteSource(folders.folder / "images/m.png",
              MakePng(60, 40, std::vector<std::uint8_t>(2400), {.color_type = 0}));
  const auto passed = [&](const std::string& text, const std::vector<Column>& columns) {
    std::vector<std::string> paths;
    for (const LeftOut& one : folders.Convert(folders.Table("t.csv", text, columns)).passed_over) {
      CHECK(one.reason == "an image without a row in the table");
      paths.push_back(one.path);
    }
    std::filesystem::remove_all(folders.folder / "data");
    return paths;
  };
  using Strings = std::vector<std::string>;
  CHECK(passed("path\na.jpg\n", {}) == Strings{"b.jpg", "m.png"});
  CHECK(passed("path\na.jpg\ndeep/c.jpg\nB.jpg\n", {}) == Strings{"m.png"});
  CHECK(passed("path,mask\na.jpg,m.png\nb.jpg,m.png\n", {{"mask", ColumnType::kMask}}).empty());
  CHECK(passed("path\ndeep/c.jpg\n", {}).empty());
}

TEST_CASE("paths are relative to the root if one is given") {
  const TableFolder folders;
  WriteSource(folders.folder / "elsewhere/t.csv", std::string("image\nc.jpg\n"));
  ConvertSource source = ConvertSource::Table(folders.folder / "elsewhere/t.csv");
  source.root = folders.folder / "images/deep";
  CHECK(folders.Convert(source).samples == 1);
  CHECK(folders.Data().samples[0].key == "c.jpg");
}

TEST_CASE("a table with other values changes the plan") {
  const TableFolder folders;
  folders.Convert(folders.Table("t.csv", "path,label,text\na.jpg,x,one\n"));
  const auto error =
      ErrorOf([&] { folders.Convert(folders.Table("t.csv", "path,label,text\na.jpg,x,two\n")); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kExists);
  CHECK_THAT(error->sentence(),
             ContainsSubstring("other sources: the values of their fields changed"));
}

TEST_CASE("with `group`, the rows of one image make one sample with all their boxes") {
  const TableFolder folders;
  ConvertSource source = folders.Table("t.csv",
                                       "ImageID,LabelName,XMin,XMax,YMin,YMax,site\n"
                                       "a,/m/cat,0,0.5,0,1,x\n"
                                       "b,/m/dog,0.5,1,0.25,0.75,y\n"
                                       "a,/m/dog,0.1,0.2,0.5,0.75,x\n"
                                       "deep/c,,,,,,z\n",
                                       {{"XMin+YMin+XMax+YMax", ColumnType::kBoxes},
                                        {"LabelName", ColumnType::kBoxClasses},
                                        {"site", ColumnType::kText}});
  source.rows.columns[0].relative = true;
  source.rows.path_column = "ImageID";
  source.rows.group = true;
  const ConvertSummary summary = folders.Convert(source);
  CHECK(summary.samples == 3);
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] ==
        "3 paths do not exist as written, and were taken for others, such as a, which is a.jpg");
  const StoredDataset data = folders.Data();
  CHECK(data.Keys() == std::vector<std::string>{"a.jpg", "b.jpg", "deep/c.jpg"});
  CHECK(data.manifest.schema.fields[1].name == "boxes");
  CHECK(ValuesOf<float>(data.Find("a.jpg").fields[1]) ==
        std::vector<float>{0, 0, 30, 40, 6, 20, 12, 30});
  CHECK(ValuesOf<std::int32_t>(data.Find("a.jpg").fields[2]) == std::vector<std::int32_t>{0, 1});
  CHECK(TextOf(data.Find("a.jpg").fields[3]) == "x");
}

TEST_CASE("with `group`, an image is left out if one of its rows is unusable") {
  const TableFolder folders;
  ConvertSource source = folders.Table("t.csv",
                                       "path,bbox,site\na.jpg,0 0 1 1,x\na.jpg,0 0 1,x\n"
                                       "b.jpg,0 0 1 1,x\nb.jpg,0 0 1 1,y\n"
                                       "deep/c.jpg,0 0 1 1,x\n",
                                       {{"bbox", ColumnType::kBoxes}, {"site", ColumnType::kText}});
  source.rows.group = true;
  const ConvertSummary summary = folders.Convert(source);
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 2);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("line 3: column bbox: a box has four"));
  CHECK_THAT(
      summary.skipped[1].reason,
      ContainsSubstring("line 5: column site has another value than in line 4 for the same image"));
}

TEST_CASE(
    "a path without its ending is found if one image has that name, and otherwise both are named") {
  const TableFolder folders;
  WriteSource(folders.folder / "images/a.txt", std::string("no image"));
  WriteSource(folders.folder / "images/b.png", MakePng(MakePicture(8, 8)));
  const ConvertSummary summary = folders.Convert(folders.Table("t.csv", "path\na\nb\nx\n"));
  CHECK(summary.samples == 1);
  CHECK(folders.Data().samples[0].key == "a.jpg");
  REQUIRE(summary.skipped.size() == 2);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("its image may be b."));
  CHECK_THAT(summary.skipped[1].reason,
             ContainsSubstring(
                 "its image does not exist, and neither does an image with an ending added"));
}

TEST_CASE(
    "a table without rows is refused, and several rows of boxes per image or invalid UTF-8 give a "
    "warning") {
  const TableFolder folders;
  const auto error = ErrorOf([&] { folders.Convert(folders.Table("t.csv", "path,label\n\n")); });
  REQUIRE(error);
  CHECK(error->sentence() == "has no row for an image");
  const ConvertSummary summary = folders.Convert(
      folders.Table("t.csv", "path,bbox,text\na.jpg,0 0 1 1,caf\xe9\na.jpg,0 0 2 2,x\n",
                    {{"bbox", ColumnType::kBoxes}, {"text", ColumnType::kText}}));
  REQUIRE(summary.warnings.size() == 2);
  CHECK_THAT(summary.warnings[0],
             ContainsSubstring("becomes a sample (--group makes one sample of all)"));
  CHECK_THAT(summary.warnings[1], ContainsSubstring("is not UTF-8"));
}

TEST_CASE("a box without a class, or a class without a box, leaves its image out") {
  const TableFolder folders;
  const bool group = GENERATE(true, false);
  ConvertSource source =
      folders.Table("t.csv",
                    "path,x,y,X,Y,cls\n"
                    "a.jpg,1,2,30,40,\n"
                    "a.jpg,1,2,30,40,b\n"
                    "b.jpg,1,2,30,40,a\n"
                    "deep/c.jpg,,,,,a\n",
                    {{"x+y+X+Y", ColumnType::kBoxes}, {"cls", ColumnType::kBoxClasses}});
  source.rows.group = group;
  const ConvertSummary summary = folders.Convert(source);
  CHECK(summary.samples == (group ? 1 : 2));
  REQUIRE(summary.skipped.size() == 2);
  CHECK(summary.skipped[0].reason == "t.csv, line 2: column cls: there are 0 classes for 1 boxes");
  CHECK(summary.skipped[1].reason == "t.csv, line 5: column cls: there are 1 classes for 0 boxes");
  CHECK(summary.skipped[0].path == "a.jpg");
  CHECK(folders.Data().Find("b.jpg").fields[2].bytes.size() == 4);
}

TEST_CASE("classes may be written as floats or with spaces around them") {
  const TableFolder folders;
  const std::string rows =
      GENERATE("a.jpg,2.0\nb.jpg,0.0\n", "a.jpg, 2\nb.jpg,0 \n", "a.jpg,2\nb.jpg,0.0\n");
  const ConvertSummary summary = folders.Convert(folders.Table("t.csv", "path,label\n" + rows));
  CHECK(summary.classes == std::vector<std::string>{"0", "1", "2"});
  CHECK(folders.Data().samples[0].Label() == 2);
}

TEST_CASE(
    "a missing or unknown class among numbers is refused, and other names among them give a "
    "warning") {
  const TableFolder folders;
  for (const std::string gap : {"-1", "NA", "-1.0", "nan", "?", "Unknown"}) {
    CAPTURE(gap);
    const auto error = ErrorOf([&] {
      folders.Convert(
          folders.Table("t.csv", "path,label\na.jpg,2\nb.jpg," + gap + "\ndeep/c.jpg,10\n"));
    });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kInvalidArgument);
    CHECK_THAT(error->sentence(),
               ContainsSubstring("the class \"" + gap + "\" among whole numbers"));
    CHECK_THAT(error->sentence(), ContainsSubstring("--field label=int"));
  }
  const ConvertSummary summary =
      folders.Convert(folders.Table("t.csv", "path,label\na.jpg,2\nb.jpg,A\ndeep/c.jpg,10\n"));
  CHECK(summary.classes == std::vector<std::string>{"10", "2", "A"});
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(summary.warnings[0],
             ContainsSubstring("in the order of their names, though some are numbers: \"A\""));
}

TEST_CASE("damaged boxes leave their image out, and boxes within one pixel give a warning") {
  const TableFolder folders;
  Column boxes{"bbox", ColumnType::kBoxes};
  boxes.boxes = BoxFormat::kXywh;
  ConvertSummary summary = folders.Convert(folders.Table(
      "t.csv", "path,bbox\na.jpg,9 9 -4 5\nb.jpg,5 5 0 8\ndeep/c.jpg,1 1 5 5\n", {boxes}));
  CHECK(summary.samples == 2);
  CHECK(summary.boxes_dropped == 1);  // the box of b.jpg has no area
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason,
             ContainsSubstring(
                 "ends before it begins: left, top, right and bottom are [9.0,9.0,5.0,14.0]"));
  std::filesystem::remove_all(folders.folder / "data");
  boxes.boxes = BoxFormat::kXyxy;
  boxes.relative = true;
  summary = folders.Convert(
      folders.Table("t.csv", "path,bbox\na.jpg,0 0 12 9\nb.jpg,0 0 .5 1.05\n", {boxes}));
  CHECK(summary.samples == 1);
  CHECK_THAT(summary.skipped.at(0).reason,
             ContainsSubstring("fractions of the image's sides, but"));
  std::filesystem::remove_all(folders.folder / "data");
  boxes.relative = false;
  summary = folders.Convert(
      folders.Table("t.csv", "path,bbox\na.jpg,0 0 .5 .9\nb.jpg,0 0 .5 1\n", {boxes}));
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(summary.warnings[0], ContainsSubstring("lie within the first pixel"));
}

TEST_CASE("an unreadable row is left out, and with `group` it ends the conversion") {
  const TableFolder folders;
  const bool json = GENERATE(true, false);
  ConvertSource source = json ? folders.Table("t.jsonl",
                                              "{\"path\":\"a.jpg\",\"text\":\"x\"}\n{\"path\":\n"
                                              "{\"path\":\"b.jpg\",\"text\":\"y\"}\n")
                              : folders.Table("t.csv", "path,text\na.jpg,x\nb.jpg,y,z\nb.jpg,y\n");
  const ConvertSummary summary = folders.Convert(source);
  CHECK(summary.samples == 2);
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason,
             ContainsSubstring(json ? "t.jsonl, line 2: is not JSON from byte 9"
                                    : "t.csv, line 3: the row has 3 cells"));
  source.rows.group = true;
  const auto error = ErrorOf([&] { folders.Convert(source); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kCorrupt);
}

}  // namespace sluice::test
