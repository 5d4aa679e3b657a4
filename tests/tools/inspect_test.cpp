// sluice inspect: what it shows of datasets and samples, and what it refuses.
#include <cmath>

#include <sluice/dataset_writer.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// A converted dataset of cats, dogs and owls, four each, in the order of their paths.
struct SortedAnimals {
  TemporaryFolder folder;
  std::string data = (folder / "data").string();

  SortedAnimals() {
    WriteClasses(folder / "source", 4, 40, 30);
    // Without an order to draw, a seed is refused.
    REQUIRE(Sluice({"convert", (folder / "source").string(), data, "--keep-order", "--seed=0"})
                .exit_code == 2);
    REQUIRE(
        Sluice({"convert", (folder / "source").string(), data, "--keep-order", "--quality", "80"})
            .exit_code == 0);
  }
};

// A dataset with one field of each kind, made by hand. Its second sample has no image, text or
// boxes.
std::string WriteEveryKind(const TemporaryFolder& folder) {
  Schema schema;
  schema.fields = {Field::Image(),
                   Field::Label("label", {"no", "yes"}),
                   Field::Array("pose", DType::kFloat32, {2, 2}),
                   Field::Variable("boxes", DType::kFloat32, {4}),
                   Field::Bytes("caption", Role::kText),
                   Field::Bytes("blob")};
  schema.fields[3].role = Role::kBoxes;
  schema.fields[3].follows = "image";
  std::string data = (folder / "kinds").string();
  DatasetWriter writer(data, schema, {.name = "kinds"});
  SampleBuilder sample = writer.NewSample("evil\x1b[2Jkey");
  sample.SetJpeg("image", MakeJpeg(MakePicture(50, 20, 1)));
  sample.Set<std::int32_t>("label", 1);
  const float pose[] = {0.5F, -1, 2, 3};
  sample.SetArray<float>("pose", pose);
  const float boxes[] = {1, 2, 3, 4, 5, 6, 7, 8};
  sample.SetArray<float>("boxes", boxes);
  sample.SetText("caption", "a black cat");
  sample.SetBytes("blob", std::as_bytes(std::span("12345", 5)));
  writer.Add(sample);
  sample.Reset("second");
  sample.Set<std::int32_t>("label", 0);
  sample.SetArray<float>("pose", pose);
  writer.Add(sample);
  writer.Finish();
  return data;
}

nlohmann::json FieldOf(const nlohmann::json& sample, const std::string& name) {
  for (const auto& field : sample["fields"]) {
    if (field["name"] == name) return field;
  }
  return {};
}

}  // namespace

TEST_CASE("inspect shows counts, fields, classes and how a dataset was made") {
  const SortedAnimals animals;
  const Outcome outcome = Sluice({"inspect", animals.data});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  for (const char* text :
       {"12 samples in 1 shard", "40 x 30 pixels, RGB", "int32, label, 3 classes",
        "0           4  cat", "2           4  owl", "options.quality"}) {
    CHECK_THAT(outcome.out, ContainsSubstring(text));
  }
}

TEST_CASE("inspect --json gives the same as one object") {
  const SortedAnimals animals;
  const nlohmann::json answer = JsonOf(Sluice({"inspect", animals.data, "--json"}));
  CHECK(answer["samples"] == 12);
  CHECK(answer["shards"] == 1);
  CHECK(answer["id"].get<std::string>().size() == 32);
  CHECK(answer["bytes"] == std::filesystem::file_size(animals.data + "/shard-00000.sluice"));
  CHECK(answer["fields"][1]["classes"] == nlohmann::json{"cat", "dog", "owl"});
  CHECK(answer["classes"][2] == nlohmann::json{{"name", "owl"}, {"samples", 4}});
  CHECK(answer["images"][0]["max_width"] == 40);
  CHECK(answer["made_with"]["options"]["quality"] == 80);
  CHECK_FALSE(answer.contains("sample"));
  CHECK_FALSE(answer.contains("shard_list"));
}

TEST_CASE("a dataset names the version of Sluice that --version prints, and that of its writer") {
  const SortedAnimals animals;
  const nlohmann::json answer = JsonOf(Sluice({"inspect", animals.data, "--json"}));
  const nlohmann::json& libraries = answer["made_with"]["libraries"];
  CHECK_THAT(Sluice({"--version"}).out,
             Catch::Matchers::StartsWith("sluice " + libraries["sluice"].get<std::string>() + ","));
  CHECK(libraries["sluice-writer"].is_number_unsigned());
}

TEST_CASE("inspect --shards lists the shards") {
  const SortedAnimals animals;
  CHECK_THAT(Sluice({"inspect", animals.data, "--shards"}).out,
             ContainsSubstring("shard-00000.sluice"));
  CHECK(Sluice({"inspect", animals.data}).out.find("shard-00000") == std::string::npos);
  const nlohmann::json answer = JsonOf(Sluice({"inspect", animals.data, "--shards", "--json"}));
  CHECK(answer["shard_list"][0]["samples"] == 12);
}

TEST_CASE("inspect reads no shard unless a sample is requested") {
  const SortedAnimals animals;
  std::filesystem::remove(animals.data + "/shard-00000.sluice");
  CHECK(Sluice({"inspect", animals.data}).exit_code == 0);
  const Outcome outcome = Sluice({"inspect", animals.data, "--sample", "0"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("shard-00000.sluice"));
}

TEST_CASE("inspect --sample and --key show one sample") {
  const SortedAnimals animals;
  const nlohmann::json by_number =
      JsonOf(Sluice({"inspect", animals.data, "--sample", "5", "--json"}))["sample"];
  CHECK(by_number["key"] == "dog/1.jpg");
  CHECK(FieldOf(by_number, "label")["value"] == 1);
  CHECK(FieldOf(by_number, "label")["class"] == "dog");
  CHECK(FieldOf(by_number, "image")["width"] == 40);
  CHECK(FieldOf(by_number, "image")["codec"] == "jpeg");
  CHECK(JsonOf(Sluice({"inspect", animals.data, "--key", "dog/1.jpg", "--json"}))["sample"] ==
        by_number);
  CHECK_THAT(Sluice({"inspect", animals.data, "--sample", "5"}).out,
             ContainsSubstring("sample 5: dog/1.jpg"));
}

TEST_CASE("a missing sample is an error") {
  const SortedAnimals animals;
  CHECK(Sluice({"inspect", animals.data, "--sample", "12"}).exit_code == 2);
  const Outcome outcome = Sluice({"inspect", animals.data, "--key", "dog/9.jpg"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("dog/9.jpg"));
}

TEST_CASE("inspect shows fields of every kind") {
  const TemporaryFolder folder;
  const std::string data = WriteEveryKind(folder);
  const nlohmann::json sample =
      JsonOf(Sluice({"inspect", data, "--sample", "0", "--json"}))["sample"];
  CHECK(FieldOf(sample, "image")["channels"] == 1);
  CHECK(FieldOf(sample, "pose")["values"] == nlohmann::json{0.5, -1.0, 2.0, 3.0});
  CHECK(FieldOf(sample, "boxes")["shape"] == nlohmann::json{2, 4});
  CHECK(FieldOf(sample, "boxes")["values"] == nlohmann::json{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(FieldOf(sample, "caption")["text"] == "a black cat");
  CHECK(FieldOf(sample, "blob")["bytes"] == 5);
  const nlohmann::json second =
      JsonOf(Sluice({"inspect", data, "--sample", "1", "--json"}))["sample"];
  for (const char* name : {"image", "boxes", "caption"}) {
    CHECK(FieldOf(second, name)["absent"] == true);
  }
  CHECK_THAT(Sluice({"inspect", data}).out, ContainsSubstring("float32 [n, 4], boxes of image"));
}

TEST_CASE("inspect shows numbers that JSON does not have, and --json has null for them") {
  const TemporaryFolder folder;
  const float values[] = {1, NAN, INFINITY, -INFINITY};
  DatasetWriter writer(folder / "data",
                       {{Field::Image(), Field::Variable("n", DType::kFloat32, {2})}});
  SampleBuilder sample = writer.NewSample("a");
  sample.SetJpeg("image", MakeJpeg(MakePicture(50, 20, 1)));
  sample.SetArray<float>("n", values);
  writer.Add(sample);
  writer.Finish();
  const std::string data = (folder / "data").string();
  CHECK_THAT(
      Sluice({"inspect", data, "--sample", "0"}).out,
      ContainsSubstring("[1.0,nan,inf,-inf]") || ContainsSubstring("[[1.0,nan],[inf,-inf]]"));
  const nlohmann::json json = JsonOf(Sluice({"inspect", data, "--sample", "0", "--json"}));
  CHECK(FieldOf(json["sample"], "n")["values"] == nlohmann::json{1.0, nullptr, nullptr, nullptr});
}

TEST_CASE("control characters in a key do not reach the terminal") {
  const TemporaryFolder folder;
  const Outcome outcome = Sluice({"inspect", WriteEveryKind(folder), "--sample", "0"});
  CHECK(outcome.out.find('\x1b') == std::string::npos);
  CHECK_THAT(outcome.out, ContainsSubstring("evil\\x1b[2Jkey"));
}

TEST_CASE("inspect says that a folder is not a dataset") {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.path().string(), (folder / "nothing").string()}) {
    const Outcome outcome = Sluice({"inspect", path});
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("sluice: " + path));
  }
}

TEST_CASE("inspect of a folder of datasets, which a split makes, names a dataset in it") {
  const SortedAnimals animals;
  const Outcome outcome = Sluice({"inspect", animals.folder.path().string()});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err,
             ContainsSubstring("holds datasets: name one of them, such as " + animals.data));
}

}  // namespace sluice::test
