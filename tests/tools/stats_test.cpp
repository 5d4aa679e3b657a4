// sluice stats, against sums worked out by hand.
#include <cmath>

#include <sluice/dataset_writer.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

TEST_CASE("stats gives mean and deviation of each channel, sizes and class counts") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  DatasetWriter writer(data, {{Field::Image(), Field::Label("label", {"a", "b"})}});
  const auto add = [&](std::uint32_t width, const std::vector<std::uint8_t>& pixels, int label) {
    SampleBuilder sample = writer.NewSample("k");
    sample.SetPixels("image", width, 1, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int32_t>("label", label);
    writer.Add(sample);
  };
  add(1, {0, 255, 51}, 1);
  add(3, {255, 255, 51, 0, 255, 51, 255, 255, 51}, 1);
  writer.Finish();
  const nlohmann::json answer = JsonOf(Sluice({"stats", data, "--json", "--threads", "2"}));
  CHECK(answer["pixels"] == 4);
  CHECK(answer["mean"][0].get<double>() == Approx(0.5));  // 0, 1, 0, 1
  CHECK(answer["std"][0].get<double>() == Approx(0.5));
  CHECK(answer["mean"][1].get<double>() == Approx(1));
  CHECK(answer["std"][1].get<double>() == Approx(0).margin(1e-9));
  CHECK(answer["mean"][2].get<double>() == Approx(0.2));
  CHECK(answer["width"]["0"] == 1);
  CHECK(answer["width"]["100"] == 3);
  CHECK(answer["classes"][0] == nlohmann::json{{"name", "a"}, {"samples", 0}});
  CHECK(answer["classes"][1] == nlohmann::json{{"name", "b"}, {"samples", 2}});
  const Outcome text = Sluice({"stats", data});
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("mean       0.5000, 1.0000, 0.2000") != std::string::npos);
}

namespace {

// A dataset of images, labels, numbers, texts and bytes, and its stats.
struct FieldsOfEachKind {
  TemporaryFolder folder;
  std::string data = (folder / "data").string();

  FieldsOfEachKind() {
    DatasetWriter writer(
        data, {{Field::Image(), Field::Label("label", {"cat", "dog"}),
                Field::Array("year", DType::kInt64, {}), Field::Array("pose", DType::kFloat32, {2}),
                Field::Bytes("city", Role::kText), Field::Bytes("note")}});
    const std::int64_t years[] = {1999, 2024, 2024, 2001};
    const char* const cities[] = {"Bonn", "Oslo", "Bonn", nullptr};
    for (std::size_t i = 0; i < 4; ++i) {
      SampleBuilder sample = writer.NewSample("k" + std::to_string(i));
      const std::vector<std::uint8_t> pixels(12, static_cast<std::uint8_t>(51 * i));
      sample.SetPixels("image", 2, 2, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
      sample.Set<std::int32_t>("label", 1);
      sample.Set<std::int64_t>("year", years[i]);
      const float pose[] = {i == 3 ? NAN : 1.5F, -2.5F};
      sample.SetArray<float>("pose", pose);
      if (cities[i] != nullptr) sample.SetText("city", cities[i]);
      writer.Add(sample);
    }
    writer.Finish();
  }
  nlohmann::json Stats(const char* threads = "1") const {
    return JsonOf(Sluice({"stats", data, "--json", "--threads", threads}));
  }
};

}  // namespace

TEST_CASE("stats --json has ranges and vocabularies of all fields, and the dataset's digest") {
  const FieldsOfEachKind made;
  const nlohmann::json answer = made.Stats();
  CHECK(answer["sluice_stats"] == 1);
  CHECK(answer["digest"] == JsonOf(Sluice({"inspect", made.data, "--json"}))["id"]);
  CHECK(answer["min"][0].get<double>() == Approx(0));
  CHECK(answer["max"][0].get<double>() == Approx(0.6));  // 153 of 255
  const nlohmann::json& fields = answer["fields"];
  REQUIRE(fields.size() == 5);
  CHECK(fields[0]["vocabulary"] ==
        nlohmann::json::parse(R"([{"value":"cat","count":0},{"value":"dog","count":4}])"));
  CHECK(fields[1]["name"] == "year");
  CHECK((fields[1]["min"] == 1999 && fields[1]["max"] == 2024 && fields[1]["mean"] == 2012));
  CHECK(fields[1]["vocabulary"] ==
        nlohmann::json::parse(
            R"([{"value":2024,"count":2},{"value":1999,"count":1},{"value":2001,"count":1}])"));
  CHECK((fields[2]["values"] == 7 && fields[2]["not_finite"] == 1));
  CHECK((fields[2]["min"] == -2.5 && fields[2]["max"] == 1.5));
  CHECK(fields[2]["mean"].get<double>() == Approx((3 * 1.5 - 4 * 2.5) / 7));
  CHECK(fields[2]["vocabulary"].is_null());
  CHECK(fields[3]["samples"] == 3);
  CHECK(fields[3]["vocabulary"] ==
        nlohmann::json::parse(R"([{"value":"Bonn","count":2},{"value":"Oslo","count":1}])"));
  CHECK((fields[4]["samples"] == 0 && !fields[4].contains("mean") &&
         fields[4]["vocabulary"].is_null()));
}

TEST_CASE("stats --json gives the deviation of large numbers that are close to each other") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  DatasetWriter writer(data, {{Field::Image(), Field::Array("time", DType::kInt64, {})}});
  for (std::int64_t i = 0; i < 3; ++i) {
    SampleBuilder sample = writer.NewSample("k" + std::to_string(i));
    const std::vector<std::uint8_t> pixels(12);
    sample.SetPixels("image", 2, 2, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int64_t>("time", 1'700'000'000'000'000'000 + 3 * i);
    writer.Add(sample);
  }
  writer.Finish();
  const nlohmann::json time = JsonOf(Sluice({"stats", data, "--json"}))["fields"][0];
  CHECK(time["std"].get<double>() == Approx(std::sqrt(6)));
  CHECK(time["mean"].get<double>() == Approx(1.7e18));
}

TEST_CASE("stats --json prints the same for any number of threads") {
  const FieldsOfEachKind made;
  CHECK(made.Stats("1").dump() == made.Stats("4").dump());
}

}  // namespace sluice::test
