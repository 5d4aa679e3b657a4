// sluice-bench advise, run as a user would.
#include <filesystem>
#include <regex>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

const Words kQuick = {"--sample", "6", "--seconds", "0"};

Words Advise(const std::filesystem::path& source, const Words& more) {
  Words words = {"advise", source.string()};
  words.insert(words.end(), kQuick.begin(), kQuick.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("sluice-bench advise tries forms for a folder, chooses one and leaves no files behind") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "scratch");
  WriteClasses(folder / "source", 6, 80, 60);
  const nlohmann::json answer = JsonOf(
      Bench(Advise(folder / "source", {"--json", "--scratch", (folder / "scratch").string()})));
  CHECK(answer["command"] == "advise");
  CHECK(answer["facts"]["kinds"].size() >= 1);
  CHECK(answer["fitted"] == 4);
  CHECK(answer["held_out"] == 2);
  REQUIRE(answer["forms"].size() >= 3);
  bool there = false;
  for (const auto& form : answer["forms"]) {
    CAPTURE(form.dump());
    REQUIRE_FALSE(form.contains("failed"));
    CHECK(form["images_per_second"].get<double>() > 0);
    CHECK(form["held_out_images_per_second"].get<double>() > 0);
    const auto images = answer["facts"]["images"].get<double>();
    CHECK(form["forecast"]["dataset_bytes"].get<double>() ==
          Approx(images * form["bytes_per_image"].get<double>()).margin(1));
    there = there || form["form"] == answer["chosen"];
  }
  CHECK(there);
  CHECK_THAT(answer["advice"][0].get<std::string>(), ContainsSubstring("sluice convert"));
  CHECK(std::filesystem::is_empty(folder / "scratch"));
}

TEST_CASE("sluice-bench advise fits its forecasts to one of two pictures, and tests the other") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1, 80, 60);
  std::filesystem::remove_all(folder / "source" / "owl");
  const nlohmann::json answer = JsonOf(Bench(Advise(folder / "source", {"--json"})));
  CHECK(answer["fitted"] == 1);
  CHECK(answer["held_out"] == 1);
  for (const auto& form : answer["forms"]) {
    CAPTURE(form.dump());
    CHECK_FALSE(form.contains("failed"));
  }
}

TEST_CASE("sluice accepts the options that sluice-bench advise prints, also if a name has blanks") {
  const TemporaryFolder folder;
  const std::filesystem::path source = folder / "Anna's photos";
  WriteClasses(source, 4, 80, 60);
  const nlohmann::json answer = JsonOf(Bench(Advise(source, {"--json"})));
  CHECK_THAT(answer["advice"][0].get<std::string>(),
             ContainsSubstring("/Anna'\\''s photos' DATASET"));
  int made = 0;
  for (const auto& form : answer["forms"]) {
    Words words = {"convert", source.string(), (folder / std::to_string(made++)).string(),
                   "--quiet"};
    const std::string options = form["options"];
    for (std::size_t begin = 0; begin < options.size();) {
      const std::size_t end = std::min(options.find(' ', begin), options.size());
      words.push_back(options.substr(begin, end - begin));
      begin = end + 1;
    }
    CAPTURE(options);
    CHECK(Sluice(words).exit_code == 0);
  }
}

TEST_CASE("sluice-bench advise on a dataset offers to transcode it and prints a table") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 6, 80, 60);
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  Words words = {"--step-ms", "1000", "--batch-size", "1", "--gpus", "1"};
  bool link = false;
  SECTION("from a disk") {}
  SECTION("from an object store, with what its requests cost") {
    words.insert(words.end(),
                 {"--link", "100MB/s", "--link-delay", "50ms", "--request-price", "5"});
    link = true;
  }
  const Outcome outcome = Bench(Advise(data, words));
  const std::string text = std::regex_replace(outcome.out, std::regex("\\s+"), " ");  // unwrapped
  CHECK((text.find("a later one 1 (0.005)") != std::string::npos) == link);
  CHECK((text.find("The first batch comes") != std::string::npos) == link);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("jpeg, as it is"));
  CHECK_THAT(outcome.out, ContainsSubstring("packed"));
  CHECK_THAT(outcome.out, ContainsSubstring("One machine is enough"));
  CHECK_THAT(outcome.out, ContainsSubstring("threads = 1"));
  for (std::size_t begin = 0; begin < outcome.out.size();) {
    const std::size_t end = std::min(outcome.out.find('\n', begin), outcome.out.size());
    CHECK(end - begin <= 110);  // a long word, the folder's name, is not broken
    begin = end + 1;
  }
}

TEST_CASE("sluice-bench advise measures what smaller pictures would save a dataset of large ones") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "scratch");
  WriteClasses(folder / "source", 6, 80, 60);
  const std::string data = (folder / "data").string();
  const std::string image = GENERATE("jpeg", "packed", "raw");
  REQUIRE(Sluice({"convert", (folder / "source").string(), data, "--image", image}).exit_code == 0);
  const nlohmann::json answer = JsonOf(Bench(Advise(
      data, {"--transform", "rrc:16", "--json", "--scratch", (folder / "scratch").string()})));
  const nlohmann::json& form = answer["forms"].back();
  CAPTURE(form.dump());
  CHECK(form["options"].get<std::string>().starts_with("--image " + image + " --max-side 36"));
  REQUIRE_FALSE(form.contains("failed"));
  CHECK(form["psnr_db"].get<double>() > 20);
  CHECK(form["bytes_per_image"].get<double>() <
        answer["forms"][0]["bytes_per_image"].get<double>());
  CHECK_THAT(answer["advice"].back().get<std::string>(),
             ContainsSubstring("--max-side 36") && ContainsSubstring("(median 80x60)"));
  CHECK(std::filesystem::is_empty(folder / "scratch"));
}

TEST_CASE("sluice-bench advise refuses sources that it cannot judge") {
  const TemporaryFolder folder;
  CHECK(Bench({"advise", (folder / "none").string()}).exit_code == 1);
  CHECK(Bench({"advise", folder.path().string()}).exit_code == 1);
  CHECK(Bench({"advise", folder.path().string(), "--gpus", "2"}).exit_code == 2);
  CHECK(Bench({"advise", folder.path().string(), "--link-cache", "1GB"}).exit_code == 2);
  const Outcome url = Bench({"advise", "https://host/data?sig=geheim", "--link", "1GB/s"});
  CHECK(url.exit_code == 1);
  CHECK_THAT(url.err,
             ContainsSubstring("https://host/data:") && ContainsSubstring("sluice subset"));
  CHECK_THAT(url.err, !ContainsSubstring("geheim"));
  CHECK(Bench({"advise", folder.path().string(), "--quality", "90,"}).exit_code == 2);
  CHECK(Bench({"advise"}).exit_code == 2);
}

}  // namespace sluice::test
