// sluice export.
#include <cstdio>
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
    "export gives the stored JPEGs back, byte for byte, and converting them again the samples") {
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

TEST_CASE("classes come back with the numbers they had, empty ones and odd names included") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  const std::vector<std::string> classes = {"dog", "cat, wild", "ant", "owl"};  // no ant, no owl
  Field tags = Field::Variable("tags", DType::kInt32, {});
  tags.role = Role::kLabel;
  tags.classes = {"a, b", "c"};
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
  REQUIRE(Sluice({"convert", "--table", at("out/labels.csv"), "--classes", at("out/classes.txt"),
                  "--field", "label=class", "--field", "tags=classes", at("again"), "--keep-order"})
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

TEST_CASE("export writes fields of every kind, and no name leads out of its folder") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  Schema schema{{Field::Image(), Field::Mask("mask", "image"),
                 Field::Variable("boxes", DType::kFloat32, {4}), Field::Bytes("note", Role::kText),
                 Field::Bytes("sound"), Field::Array("n", DType::kInt64, {})}};
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
  CHECK_THAT(ContentOf(folder / "deep/er/out/labels.csv"),
             ContainsSubstring("images/a/x.png,a/x.png,mask/a/x.png,\"[[0.0,0.5,1.0,2.0],[3.0,4.0,"
                               "5.0,6.0]]\",\"one, \"\"two\"\"\nthree\",sound/a/x.bin,-5\n"));
}

TEST_CASE(
    "keys of which one would be a file and another one's folder, and very long ones, are all "
    "written") {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& name) { return (folder / name).string(); };
  const std::vector<std::uint8_t> pixels(3, 9);
  const auto files = [&](const std::string& name, const std::vector<std::string>& keys) {
    DatasetWriter writer(at(name), Schema{{Field::Image()}});
    for (const std::string& key : keys) {
      SampleBuilder sample = writer.NewSample(key);
      sample.SetPixels("image", 1, 1, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
      writer.Add(sample);
    }
    writer.Finish();
    CHECK(Sluice({"export", at(name), at(name + "-out")}).exit_code == 0);
    std::set<std::string> found;
    const std::filesystem::path images = folder / (name + "-out/images");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(images)) {
      if (entry.is_regular_file()) found.insert(entry.path().lexically_relative(images).native());
    }
    return found;
  };
  CHECK(files("a", {"x.png", "x.png/y/z"}) == std::set<std::string>{"x.png", "x.png_y_z.png"});
  std::string deep = "end.png";
  for (int i = 0; i < 30; ++i)
    deep = std::string(150, 'd') + "/" + deep;
  CHECK(files("c", {deep, "end"}) == std::set<std::string>{"end.png", "end-1.png"});
  CHECK(files("b", {"x.png/y/z", "x.png", "x.png/y.png"}) ==
        std::set<std::string>{"x.png/y/z.png", "x-1.png", "x.png/y.png"});
}

TEST_CASE("nothing that is said goes into a file where a standard stream is closed") {
  if (*SLUICE_EMULATOR != '\0') return;  // it opens files of its own, and runs no shell
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
  CHECK(export_with("<&- >&- 2>&-") == 1);  // it could not say what it did
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
