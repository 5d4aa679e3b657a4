// sluice stats, against sums worked out by hand.
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

}  // namespace sluice::test
