// sluice export: its files, their names, and labels.csv, which convert reads back.
#include <cstdio>
#include <map>
#include <set>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

std::string PayloadOf(const Sample& sample) {
  const auto bytes = sample.Payload().bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE(
    "export gives the stored JPEGs back byte for byte, and converting them gives the same "
    "samples") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 3);
  REQUIRE(Sluice({"convert", at("source"), at("data"), "--keep-order"}).exit_code == 0);
  const Outcome outcome = Sluice({"export", at("data"), at("out")});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("9 samples"));
  const Dataset dataset = Dataset::Open(at("data"));
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    CHECK(ContentOf(folder / ("out/images/" + dataset[i].key())) == PayloadOf(dataset[i]));
  }
  CHECK_THAT(ContentOf(folder / "out/labels.csv"),
             Catch::Matchers::StartsWith("path,key,label\nimages/cat/0.jpg,cat/0.jpg,cat\n"));
  REQUIRE(Sluice({"convert", "--table", at("out/labels.csv"), at("again"), "--keep-order",
                  "--quality", "keep"})
              .exit_code == 0);
  const Dataset again = Dataset::Open(at("again"));
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    CHECK(PayloadOf(again[i]) == PayloadOf(dataset[i]));
    CHECK(again[i].Integer("label") == dataset[i].Integer("label"));
  }
  CHECK(Sluice({"export", at("data"), at("out")}).exit_code == 1);  // is not empty
}

TEST_CASE("classes come back with their numbers, including empty ones and odd names") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  // No sample is an ant or an owl.
  const std::vector<std::string> classes = {"dog", "cat, wild", "ant", "owl"};
  Field tags = Field::Variable("tags", DType::kInt32, {});
  tags.role = Role::kLabel;
  tags.classes = {"c", "a, b", "unused"};
  DatasetWriter writer(at("data"), Schema{{Field::Image(), Field::Label("label", classes), tags}});
  const std::vector<std::uint8_t> pixels(64 * 3, 9);
  const std::vector<std::vector<std::int32_t>> of_sample = {{1, 0}, {}, {1}};
  for (std::int32_t i = 0; i < 3; ++i) {
    SampleBuilder sample = writer.NewSample("s" + std::to_string(i));
    sample.SetPixels("image", 8, 8, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int32_t>("label", i % 2);
    sample.SetArray<std::int32_t>("tags", of_sample[static_cast<std::size_t>(i)]);
    writer.Add(sample);
  }
  writer.Finish();
  REQUIRE(Sluice({"export", at("data"), at("out")}).exit_code == 0);
  CHECK(ContentOf(folder / "out/classes.txt") == "dog\ncat, wild\nant\nowl\n");
  CHECK(ContentOf(folder / "out/classes/label.txt") == ContentOf(folder / "out/classes.txt"));
  CHECK(ContentOf(folder / "out/classes/tags.txt") == "c\na, b\nunused\n");
  REQUIRE(
      Sluice({"convert", "--table", at("out/labels.csv"), "--classes", at("out/classes.txt"),
              "--field", "label=class", "--field",
              "tags=classes,classes=" + at("out/classes/tags.txt"), at("again"), "--keep-order"})
          .exit_code == 0);
  const Dataset again = Dataset::Open(at("again"));
  CHECK(again.schema().fields[1].classes == classes);
  CHECK(again.schema().fields[2].classes == tags.classes);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(again[i].Integer("label") == static_cast<std::int64_t>(i % 2));
    REQUIRE(again[i].Has("tags"));
    const auto values = again[i].Array<std::int32_t>("tags");
    CHECK(std::vector<std::int32_t>(values.begin(), values.end()) == of_sample[i]);
  }
}

TEST_CASE("classes.txt has the label's classes, even if another field with classes comes first") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteJpeg(folder / "in/a.jpg", MakePicture(8, 8));
  WriteBytes(folder / "in/t.csv", "path,tags,label\na.jpg,x|y,cat\n");
  REQUIRE(Sluice({"convert", "--table", at("in/t.csv"), at("data"), "--field", "tags=classes",
                  "--field", "label=class"})
              .exit_code == 0);
  REQUIRE(Sluice({"export", at("data"), at("out")}).exit_code == 0);
  CHECK(ContentOf(folder / "out/classes.txt") == "cat\n");
  CHECK(ContentOf(folder / "out/classes/tags.txt") == "x\ny\n");
}

TEST_CASE("export writes fields of every kind, and no key leads out of the folder") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  Schema schema{{Field::Image(), Field::Mask("mask", "image"),
                 Field::Variable("boxes", DType::kFloat32, {4}), Field::Bytes("note", Role::kText),
                 Field::Bytes("sound"), Field::Array("n", DType::kInt64, {}),
                 Field::Array("grid", DType::kInt32, {2, 3}),
                 Field::Variable("pose", DType::kFloat32, {2, 2})}};
  DatasetWriter writer(at("data"), schema);
  for (const char* key : {"../../evil.jpg", "a/x.png", "a/x.gif"}) {
    SampleBuilder sample = writer.NewSample(key);
    const std::vector<std::uint8_t> pixels = {1, 2, 3, 4, 5, 6};
    sample.SetPixels("image", 2, 1, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.SetPixels("mask", 2, 1, 1, PixelType::kUint8, std::as_bytes(std::span(pixels).first(2)),
                     true);
    sample.SetArray<float>("boxes", std::vector<float>{0, 0.5F, 1, 2, 3, 4, 5, 6});
    sample.SetText("note", "one, \"two\"\nthree");
    sample.SetBytes("sound", std::as_bytes(std::span(pixels)));
    sample.Set<std::int64_t>("n", -5);
    sample.SetArray<std::int32_t>("grid", std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
    sample.SetArray<float>("pose", std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
    writer.Add(sample);
  }
  writer.Finish();
  CHECK(Sluice({"export", at("data"), at("deep/er/out")}).exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "deep/evil.png"));
  CHECK(std::filesystem::exists(folder / "deep/er/out/images/__/__/evil.png"));
  CHECK(std::filesystem::exists(folder / "deep/er/out/images/a/x.png"));
  CHECK(std::filesystem::exists(folder / "deep/er/out/images/a/x-1.png"));
  CHECK(std::filesystem::exists(folder / "deep/er/out/mask/a/x.png"));
  CHECK(ContentOf(folder / "deep/er/out/sound/a/x.bin") == std::string("\1\2\3\4\5\6"));
  CHECK_THAT(
      ContentOf(folder / "deep/er/out/labels.csv"),
      ContainsSubstring(
          "images/a/x.png,a/x.png,mask/a/x.png,\"[[0.0,0.5,1.0,2.0],[3.0,4.0,"
          "5.0,6.0]]\",\"one, "
          "\"\"two\"\"\nthree\",sound/a/x.bin,-5,\"[[1,2,3],[4,5,6]]\",\"[[[0.0,1.0],[2.0,3.0]],"
          "[[4.0,5.0],[6.0,7.0]]]\"\n"));
}

namespace {

constexpr std::uint8_t kGrey[] = {9, 9, 9};

void SetGrey(SampleBuilder& sample, const std::string& field) {
  sample.SetPixels(field, 1, 1, 3, PixelType::kUint8, std::as_bytes(std::span(kGrey)));
}

void SetJpeg(SampleBuilder& sample, const std::string& field, std::uint64_t seed) {
  sample.SetJpeg(field, MakeJpeg(MakePicture(8, 8, 3, seed)));
}

// The files below `folder`, as relative paths.
std::set<std::string> FilesBelow(const std::filesystem::path& folder) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) found.insert(entry.path().lexically_relative(folder).native());
  }
  return found;
}

// Exports raw images with these keys, and returns the names of the files.
std::set<std::string> FilesOf(const std::vector<std::string>& keys) {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data", Schema{{Field::Image()}});
  for (const std::string& key : keys) {
    SampleBuilder sample = writer.NewSample(key);
    SetGrey(sample, "image");
    writer.Add(sample);
  }
  writer.Finish();
  const std::string out = (folder / "out").string();
  CHECK(Sluice({"export", (folder / "data").string(), out}).exit_code == 0);
  return FilesBelow(folder / "out/images");
}

}  // namespace

TEST_CASE("samples whose keys give the same name have different files") {
  using Files = std::set<std::string>;
  CHECK(FilesOf({"a", "./a", "/a", "a.gif"}) == Files{"a.png", "a-1.png", "a-2.png", "a-3.png"});
  // A number that another key already has is skipped.
  CHECK(FilesOf({"a", "./a", "a-1"}) == Files{"a.png", "a-1.png", "a-2.png"});
  CHECK(FilesOf({"a-1", "./a", "a", "a-1.x"}) == Files{"a-1.png", "a.png", "a-2.png", "a-1-1.png"});
  // Some file systems treat these as the same name.
  CHECK(FilesOf({"IMG.PNG", "img.png"}) == Files{"IMG.PNG", "img-1.png"});
  CHECK(FilesOf({"A/x", "a/X"}) == Files{"A/x.png", "a/X-1.png"});
}

TEST_CASE("a file whose key has a fitting ending keeps that name, in whatever order samples come") {
  CHECK(FilesOf({"x.jpeg", "x.png"}) == std::set<std::string>{"x-1.png", "x.png"});
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data", Schema{{Field::Image()}});
  std::uint64_t seed = 0;
  for (const char* key : {"x.png", "x.jpeg"}) {
    SampleBuilder sample = writer.NewSample(key);
    SetJpeg(sample, "image", ++seed);
    writer.Add(sample);
  }
  writer.Finish();
  CHECK(Sluice({"export", (folder / "data").string(), (folder / "out").string()}).exit_code == 0);
  CHECK(ContentOf(folder / "out/labels.csv") ==
        "path,key\nimages/x-1.jpg,x.png\nimages/x.jpeg,x.jpeg\n");
  const Dataset dataset = Dataset::Open(folder / "data");
  CHECK(ContentOf(folder / "out/images/x-1.jpg") == PayloadOf(dataset[0]));
  CHECK(ContentOf(folder / "out/images/x.jpeg") == PayloadOf(dataset[1]));
}

TEST_CASE("a file does not take the name of another's folder, and long keys are all written") {
  using Files = std::set<std::string>;
  CHECK(FilesOf({"x.png", "x.png/y/z"}) == Files{"x-1.png", "x.png/y/z.png"});
  CHECK(FilesOf({"x.png/y/z", "x.png", "x.png/y.png"}) ==
        Files{"x.png/y/z.png", "x-1.png", "x.png/y.png"});
  std::string deep = "end.png";
  for (int i = 0; i < 30; ++i)
    deep = std::string(150, 'd') + "/" + deep;
  CHECK(FilesOf({deep, "end"}) == Files{"end.png", "end-1.png"});
  // Long names are cut between characters.
  std::string umlauts = "x";
  for (int i = 0; i < 120; ++i)
    umlauts += "\xc3\xa4";
  CHECK(FilesOf({umlauts, umlauts + "2"}) ==
        Files{umlauts.substr(0, 199) + ".png", umlauts.substr(0, 199) + "-1.png"});
}

TEST_CASE(
    "each field's files have a folder of their own, whose name is not one of export's own files") {
  const TemporaryFolder folder;
  const std::vector<std::string> names = {"main",   "view.left",   "view.right", "images",
                                          "./a",    "a",           "A",          "labels.csv",
                                          "../out", "CLASSES.txt", "view.left-1"};
  std::vector<Field> fields;
  for (const std::string& name : names)
    fields.push_back(Field::Image(name));
  DatasetWriter writer(folder / "data", Schema{fields});
  SampleBuilder sample = writer.NewSample("k.jpg");
  std::uint64_t seed = 0;
  for (const std::string& name : names)
    SetJpeg(sample, name, ++seed);
  writer.Add(sample);
  writer.Finish();
  const Outcome outcome = Sluice({"export", (folder / "data").string(), (folder / "out").string()});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(FilesBelow(folder / "out") ==
        std::set<std::string>{"labels.csv", "images/k.jpg", "view.left/k.jpg", "view.right/k.jpg",
                              "images-1/k.jpg", "._a/k.jpg", "a/k.jpg", "A-1/k.jpg",
                              "labels.csv-1/k.jpg", ".._out/k.jpg", "CLASSES.txt-1/k.jpg",
                              "view.left-1/k.jpg"});
  const Dataset dataset = Dataset::Open(folder / "data");
  for (const auto& [file, field] : std::map<std::string, std::string>{
           {"view.left", "view.left"}, {"view.right", "view.right"}, {"images-1", "images"}}) {
    const auto bytes = dataset[0].Payload(field).bytes;
    CHECK(ContentOf(folder / ("out/" + file + "/k.jpg")) ==
          std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
}

TEST_CASE("headings of labels.csv are all different") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data", Schema{{Field::Array("path", DType::kInt32, {}),
                                                Field::Array("path-field", DType::kInt32, {}),
                                                Field::Array("key", DType::kInt32, {})}});
  SampleBuilder sample = writer.NewSample("k");
  sample.Set<std::int32_t>("path", 1);
  sample.Set<std::int32_t>("path-field", 2);
  sample.Set<std::int32_t>("key", 3);
  writer.Add(sample);
  writer.Finish();
  CHECK(Sluice({"export", (folder / "data").string(), (folder / "out").string()}).exit_code == 0);
  CHECK(ContentOf(folder / "out/labels.csv") ==
        "path,key,path-field-1,path-field,key-field\n,k,1,2,3\n");
}

TEST_CASE("keys come back as they were, whatever the files are called") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  const std::vector<std::string> keys = {"a.jpg",
                                         "./a.jpg",
                                         "../../up",
                                         "/abs/x.png",
                                         "x.jpeg",
                                         "x.JPG",
                                         "two\nlines",
                                         "a,\"b\"",
                                         "=1+1",
                                         " blank ",
                                         "\xff\xfe",
                                         "no ending",
                                         "a.jpg/b",
                                         "CON",
                                         "key",
                                         "cr\r",
                                         "a\r\nb",
                                         "'quote'",
                                         "null",
                                         "\t",
                                         "\"",
                                         "a/",
                                         std::string("n\0l", 3)};
  DatasetWriter writer(at("data"), Schema{{Field::Image(), Field::Label("label", {"cat", "dog"})}});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    SampleBuilder sample = writer.NewSample(keys[i]);
    SetJpeg(sample, "image", i + 1);
    sample.Set<std::int32_t>("label", static_cast<std::int32_t>(i % 2));
    writer.Add(sample);
  }
  writer.Finish();
  CHECK(Sluice({"export", at("data"), at("out")}).exit_code == 0);
  const Outcome outcome = Sluice({"convert", "--table", at("out/labels.csv"), at("again"),
                                  "--keep-order", "--quality", "keep", "--json"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const Dataset data = Dataset::Open(at("data"));
  const Dataset again = Dataset::Open(at("again"));
  REQUIRE(again.size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CHECK(again[i].key() == keys[i]);
    CHECK(again[i].Decode().pixels == data[i].Decode().pixels);
    CHECK(again[i].Integer("label") == data[i].Integer("label"));
  }
}

TEST_CASE(
    "export writes the same for any number of threads, leaving damaged samples out in order") {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& name) { return (folder / name).string(); };
  DatasetWriter writer(at("data"), Schema{{Field::Image(), Field::Bytes("note", Role::kText)}});
  for (std::uint32_t i = 0; i < 60; ++i) {
    SampleBuilder sample = writer.NewSample("k" + std::to_string(i % 50));
    const std::uint32_t side = i % 7 == 0 ? 400 : 10;  // some take longer than others
    const Picture picture = MakePicture(side, side, 3, i);
    sample.SetPixels("image", side, side, 3, PixelType::kUint8,
                     std::as_bytes(std::span(picture.pixels)));
    sample.SetText("note", "note " + std::to_string(i));
    writer.Add(sample);
  }
  writer.Finish();
  std::string shard = ContentOf(folder / "data/shard-00000.sluice");
  for (const char* damaged : {"note 17", "note 41", "note 5"})
    shard[shard.find(damaged)] = 'N';
  WriteBytes(folder / "data/shard-00000.sluice", shard);
  const auto exported = [&](const std::string& threads) {
    const Outcome outcome =
        Sluice({"export", at("data"), at("out" + threads), "--threads", threads, "--json"});
    CHECK(outcome.exit_code == 3);
    nlohmann::json answer = JsonOf(outcome);
    answer.erase("folder");
    return answer;
  };
  const nlohmann::json one = exported("1");
  CHECK(one["samples"] == 60 - one["left_out"].get<int>());
  CHECK(one["left_out"].get<int>() >= 3);
  for (const std::string threads : {"2", "9"}) {
    CHECK(exported(threads) == one);
    std::size_t files = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(at("out1"))) {
      if (!file.is_regular_file()) continue;
      ++files;
      const auto name = std::filesystem::relative(file.path(), at("out1"));
      REQUIRE(ContentOf(folder / ("out" + threads) / name) == ContentOf(file.path()));
    }
    CHECK(files >= 50);
  }
}

TEST_CASE("32-bit floats are printed as short as possible, and come back the same") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  const std::vector<float> numbers = {0.824433F, 0.1F, 1e-40F, 3.4028235e38F, 16777216.0F, -0.3F};
  DatasetWriter writer(at("data"), Schema{{Field::Image(), Field::Array("x", DType::kFloat32, {}),
                                           Field::Array("xs", DType::kFloat32, {2})}});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    SetGrey(sample, "image");
    sample.Set<float>("x", numbers[i]);
    sample.SetArray<float>("xs", std::vector<float>{numbers[i], 1});
    writer.Add(sample);
  }
  writer.Finish();
  REQUIRE(Sluice({"export", at("data"), at("out")}).exit_code == 0);
  const std::string table = ContentOf(folder / "out/labels.csv");
  CHECK_THAT(table, ContainsSubstring("0,0.824433,\"[0.824433,1.0]\"\n"));
  CHECK_THAT(table, ContainsSubstring("1,0.1,\"[0.1,1.0]\"\n"));
  CHECK_THAT(table, ContainsSubstring("2,1e-40,"));
  CHECK_THAT(Sluice({"inspect", at("data"), "--sample", "0"}).out, ContainsSubstring("0.824433"));
  REQUIRE(Sluice({"convert", "--table", at("out/labels.csv"), at("again"), "--keep-order",
                  "--field", "x=float", "--field", "xs=floats"})
              .exit_code == 0);
  const Dataset again = Dataset::Open(at("again"));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CHECK(again[i].Array<float>("x")[0] == numbers[i]);
    CHECK(again[i].Array<float>("xs")[0] == numbers[i]);
  }
}

TEST_CASE("a column of keys is used next to one of paths, and can nevertheless be a field") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteJpeg(folder / "a.jpg", MakePicture(20, 20));
  WriteJpeg(folder / "b.jpg", MakePicture(20, 20, 3, 2));
  WriteBytes(folder / "t.csv", "path,key\na.jpg,first\nb.jpg,\n");
  REQUIRE(Sluice({"convert", "--table", at("t.csv"), at("data"), "--keep-order"}).exit_code == 0);
  CHECK(Dataset::Open(at("data"))[0].key() == "first");
  CHECK(Dataset::Open(at("data"))[1].key() == "b.jpg");  // no key of its own
  REQUIRE(Sluice({"convert", "--table", at("t.csv"), at("field"), "--keep-order", "--field",
                  "key=text"})
              .exit_code == 0);
  CHECK(Dataset::Open(at("field"))[0].key() == "a.jpg");
  CHECK(Dataset::Open(at("field"))[0].Text("key") == "first");
}

TEST_CASE("option --no-formulas makes formulas in cells harmless, and leaves numbers") {
  const TemporaryFolder folder;
  Field label = Field::Label("=label", {"@SUM(A1)", "+plus", "fine"});
  DatasetWriter writer(folder / "data",
                       Schema{{Field::Image(), label, Field::Bytes("t", Role::kText),
                               Field::Array("n", DType::kInt64, {})}});
  const std::vector<std::string> texts = {"=1+1", "\tx", "-1-1", "-2.5"};
  for (std::int32_t i = 0; i < 4; ++i) {
    SampleBuilder sample = writer.NewSample("=cmd|' /C calc'!A" + std::to_string(i));
    SetGrey(sample, "image");
    sample.Set<std::int32_t>("=label", std::min(i, 2));
    sample.SetText("t", texts[static_cast<std::size_t>(i)]);
    sample.Set<std::int64_t>("n", -7);
    writer.Add(sample);
  }
  writer.Finish();
  const std::string data = (folder / "data").string();
  CHECK(Sluice({"export", data, (folder / "out").string(), "--no-formulas"}).exit_code == 0);
  const std::string key = "=cmd|' /C calc'!A";
  CHECK(ContentOf(folder / "out/labels.csv") ==
        "path,key,'=label,t,n\n"
        "images/" +
            key + "0.png,'" + key +
            "0,'@SUM(A1),'=1+1,-7\n"
            "images/" +
            key + "1.png,'" + key +
            "1,'+plus,'\tx,-7\n"
            "images/" +
            key + "2.png,'" + key +
            "2,fine,'-1-1,-7\n"
            "images/" +
            key + "3.png,'" + key + "3,fine,-2.5,-7\n");
  CHECK(Sluice({"export", data, (folder / "plain").string()}).exit_code == 0);
  CHECK_THAT(ContentOf(folder / "plain/labels.csv"),
             ContainsSubstring("," + key + "0,@SUM(A1),=1+1"));
}

TEST_CASE("messages never go into a file, even if a standard stream is closed") {
  if (*SLUICE_EMULATOR != '\0') return;  // the emulator opens files of its own, and runs no shell
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 2);
  REQUIRE(Sluice({"convert", at("source"), at("data")}).exit_code == 0);
  REQUIRE(Sluice({"export", at("data"), at("out")}).exit_code == 0);
  const auto export_with = [&](const std::string& closed) {
    std::filesystem::remove_all(at("closed"));
    const std::string line = "exec \"$0\" export \"$1\" \"$2\" " + closed;
    const Outcome outcome = Run("/bin/sh", {"-c", line, SLUICE_COMMAND, at("data"), at("closed")});
    CHECK(ContentOf(folder / "closed/labels.csv") == ContentOf(folder / "out/labels.csv"));
    return outcome.exit_code;
  };
  CHECK(export_with("2>&-") == 0);
  CHECK(export_with("<&- 2>&-") == 0);
  CHECK(export_with("<&- >&- 2>&-") == 1);  // it could not report its result
}

TEST_CASE("export leaves a damaged sample out and names it") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 2);
  REQUIRE(Sluice({"convert", at("source"), at("data"), "--keep-order"}).exit_code == 0);
  const std::string payload = PayloadOf(Dataset::Open(at("data"))[3]);
  std::string shard = ContentOf(folder / "data/shard-00000.sluice");
  shard[shard.find(payload) + payload.size() / 2] ^= 1;
  WriteBytes(folder / "data/shard-00000.sluice", shard);
  const Outcome outcome = Sluice({"export", at("data"), at("out")});
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.out, ContainsSubstring("left out: sample 3: "));
  CHECK_THAT(outcome.out, ContainsSubstring("5 samples"));
}

}  // namespace sluice::test
