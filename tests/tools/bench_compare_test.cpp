// sluice-bench compare, run as a user would.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <sluice/device.h>

#include "tests/file_content.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

// Runs sluice-bench compare on the pictures in `folder`/source: 24 of 80x60, unless a test made
// others.
Outcome Compare(const TemporaryFolder& folder, const Words& options) {
  if (!std::filesystem::exists(folder / "source")) WriteClasses(folder / "source", 8, 80, 60);
  Words words = {"compare",      (folder / "source").string(),
                 "--work",       (folder / "work").string(),
                 "--size",       "32",
                 "--threads",    "2",
                 "--seconds",    "0",
                 "--batch-size", "10"};
  words.insert(words.end(), options.begin(), options.end());
  return Bench(words);
}

// Writes a script in place of the Python of a peer's environment. The script prints what the other
// loader would print.
void WritePeer(const std::filesystem::path& environment, const std::string& script) {
  const std::filesystem::path python = environment / "bin/python";
  std::filesystem::create_directories(python.parent_path());
  std::ofstream(python) << "#!/bin/sh\n" << script;
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("sluice-bench compare plays sluice and a plain loader, each with every picture") {
  const TemporaryFolder folder;
  const std::string page = (folder / "page.html").string();
  const nlohmann::json answer =
      JsonOf(Compare(folder, {"--only", "plain", "--json", "--html", page, "--repeat", "2",
                              "--rounds", "2", "--quality-images", "4"}));
  CHECK(answer["command"] == "compare");
  CHECK(answer["samples"] == 24);
  REQUIRE(answer["loaders"].size() == 2);
  CHECK(answer["loaders"][0]["name"] == "sluice");
  CHECK(answer["loaders"][1]["name"] == "plain");
  for (const auto& loader : answer["loaders"]) {
    INFO(loader.dump());
    CHECK(loader["images_per_second"].size() == 2);
    CHECK(loader["distinct"] == 24);
    CHECK(loader["images_per_epoch"] == 48);
    CHECK(loader["psnr_db"].get<double>() > 40);
    CHECK(loader["ratio"].get<double>() > 0);
    CHECK(loader["bytes_on_disk"].get<std::uint64_t>() > 10'000);
  }
  CHECK(std::filesystem::file_size(page) > 2000);
}

TEST_CASE("sluice-bench compare plays the pictures packed and as files, with the same pixels") {
  const TemporaryFolder folder;
  const nlohmann::json answer =
      JsonOf(Compare(folder, {"--only", "sluice-packed,sluice-files", "--json", "--rounds", "1",
                              "--quality-images", "4"}));
  REQUIRE(answer["loaders"].size() == 3);
  CHECK(answer["loaders"][1]["name"] == "sluice-packed");
  CHECK(answer["loaders"][1]["convert_seconds"].get<double>() > 0);
  CHECK(answer["loaders"][2]["name"] == "sluice-files");
  for (const auto& loader : answer["loaders"]) {
    CHECK(loader["distinct"] == 24);
    CHECK(loader["psnr_db"] == answer["loaders"][0]["psnr_db"]);
  }
}

TEST_CASE("sluice-bench compare plays raw images next to a bare loop of copies") {
  const TemporaryFolder folder;
  WriteClasses(folder / "pictures", 8, 80, 60);
  const std::string data = (folder / "raw").string();
  REQUIRE(Sluice({"convert", (folder / "pictures").string(), data, "--image", "raw"}).exit_code ==
          0);
  const nlohmann::json answer = JsonOf(Bench(
      {"compare", data, "--work", (folder / "work").string(), "--size", "48", "--threads", "2",
       "--seconds", "0", "--batch-size", "10", "--rounds", "2", "--repeat", "2", "--json"}));
  CHECK(answer["transform"] == "center:48");
  CHECK(answer["samples"] == 24);
  REQUIRE(answer["loaders"].size() == 3);
  CHECK_THAT(answer["loaders"][2]["missing"].get<std::string>(),
             ContainsSubstring("not installed"));
  for (const std::size_t i : {0, 1}) {
    const nlohmann::json& loader = answer["loaders"][i];
    INFO(loader.dump());
    CHECK(loader["name"] == (i == 0 ? "sluice" : "copies"));
    CHECK(loader["images_per_second"].size() == 2);
    CHECK(loader["distinct"] == 24);
    CHECK(loader["images_per_epoch"] == 48);
    CHECK(loader["psnr_db"] == 99);  // exactly the same pixels
  }
  // The pictures as other loaders would read them.
  std::ifstream file(folder / "work/pixels/00000000.ppm", std::ios::binary);
  std::string head(12, ' ');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  CHECK(head == "P6\n80 60\n255");
}

TEST_CASE("sluice-bench compare plays crops of wide images, and offers rasterio as a peer") {
  const TemporaryFolder folder;
  for (int i = 0; i < 6; ++i) {
    std::string file = "P5\n70 60\n65535\n";
    for (int value = 0; value < 70 * 60; ++value)
      file += {static_cast<char>(value >> 6), static_cast<char>(value * 37 + i)};
    WriteBytes(folder / "pictures" / (std::to_string(i) + ".pgm"), file);
  }
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "pictures").string(), data, "--pixels", "keep"}).exit_code ==
          0);
  const nlohmann::json answer = JsonOf(
      Bench({"compare", data, "--work", (folder / "work").string(), "--size", "48", "--threads",
             "2", "--seconds", "0", "--batch-size", "4", "--rounds", "1", "--json"}));
  CHECK(answer["transform"] == "crop:48");
  REQUIRE(answer["loaders"].size() == 2);
  CHECK(answer["loaders"][0]["distinct"] == 6);
  CHECK(answer["loaders"][0]["psnr_db"] == 99);  // exactly the same pixels
  CHECK(answer["loaders"][1]["name"] == "rasterio");
  CHECK_THAT(answer["loaders"][1]["missing"].get<std::string>(),
             ContainsSubstring("not installed"));
  CHECK(std::filesystem::file_size(folder / "work/pixels/00000000-60x70x1-uint16.raw") ==
        60 * 70 * 2);
}

TEST_CASE("a comparison of raw images of different sizes is refused") {
  const TemporaryFolder folder;
  WriteJpeg(folder / "pictures/a.jpg", MakePicture(40, 30));
  WriteJpeg(folder / "pictures/b.jpg", MakePicture(30, 40));
  const std::string data = (folder / "raw").string();
  REQUIRE(Sluice({"convert", (folder / "pictures").string(), data, "--image", "raw"}).exit_code ==
          0);
  const Outcome outcome = Bench({"compare", data, "--work", (folder / "work").string(), "--quiet"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("raw RGB images of one size"));
}

TEST_CASE("a missing or failing loader is a line in the table, not a failure") {
  const TemporaryFolder folder;
  WritePeer(folder / "peers/main", "echo 'it broke' >&2\nexit 3\n");
  const Outcome outcome =
      Compare(folder, {"--only", "ffcv,torchvision", "--peers", (folder / "peers").string(),
                       "--quiet", "--rounds", "1"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, ContainsSubstring("ffcv         not installed"));
  CHECK_THAT(outcome.out, ContainsSubstring("it broke"));
  CHECK_THAT(outcome.out, ContainsSubstring("sluice "));
  for (std::size_t begin = 0; begin < outcome.out.size();) {
    const std::size_t end = outcome.out.find('\n', begin);
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
}

TEST_CASE("a loader that cannot run on this machine is left out with its reason") {
  const TemporaryFolder folder;
  WritePeer(folder / "peers/recent",
            "echo '{\"event\": \"missing\", \"why\": \"no card here\"}'\n");
  const nlohmann::json answer =
      JsonOf(Compare(folder, {"--only", "torchvision-cuda", "--peers", (folder / "peers").string(),
                              "--json", "--rounds", "1"}));
  CHECK(answer["loaders"][1]["missing"] == "left out: no card here");
}

TEST_CASE("without a card, loaders that need one are left out with a line that says so") {
  if (Device::CudaCount() > 0) return;
  const TemporaryFolder folder;
  const nlohmann::json answer =
      JsonOf(Compare(folder, {"--only", "sluice-cuda,sluice-packed-cuda", "--json", "--rounds", "1",
                              "--quality-images", "0"}));
  REQUIRE(answer["loaders"].size() == 3);
  for (const std::size_t i : {1, 2})
    CHECK_THAT(answer["loaders"][i]["missing"].get<std::string>(), ContainsSubstring("no CUDA"));
}

TEST_CASE("several sources and numbers of threads are compared one after another") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 8, 80, 60);
  WriteClasses(folder / "other", 5, 60, 80);
  const std::string page = (folder / "page.html").string();
  const Words words = {"compare",
                       (folder / "source").string(),
                       (folder / "other").string(),
                       "--work",
                       (folder / "work").string(),
                       "--size",
                       "32",
                       "--threads",
                       "1,2",
                       "--seconds",
                       "0",
                       "--only",
                       "plain",
                       "--rounds",
                       "1",
                       "--quality-images",
                       "2"};
  Words json = words;
  json.insert(json.begin() + 3, (folder / "source").string());  // the first source again
  json.insert(json.end(), {"--json", "--html", page});
  const nlohmann::json answer = JsonOf(Bench(json));
  REQUIRE(answer["comparisons"].size() == 6);
  const std::size_t pictures[] = {24, 24, 15, 15, 24, 24};
  for (std::size_t i = 0; i < 6; ++i) {
    const nlohmann::json& one = answer["comparisons"][i];
    CHECK(one["threads"] == 1 + i % 2);
    CHECK(one["samples"] == pictures[i]);
    CHECK_THAT(one["source"].get<std::string>(), EndsWith(i / 2 == 1 ? "other" : "source"));
    CHECK(one["loaders"][1]["distinct"] == pictures[i]);
    CHECK(one["loaders"][1].contains("psnr_db") == (i % 2 == 0));
  }
  CHECK_FALSE(answer.contains("loaders"));
  const std::string names = answer["measurements"].dump();
  CHECK_THAT(names, ContainsSubstring("images_per_second.plain.threads=2.source=2"));
  CHECK_THAT(names, ContainsSubstring("images_per_second.plain.threads=1.source=3"));
  const std::string html = ContentOf(page);
  CHECK_THAT(html, ContainsSubstring("side by side"));
  const Outcome shown = Bench(words);
  CHECK(shown.exit_code == 0);
  CHECK_THAT(shown.out, ContainsSubstring("(4) "));
  CHECK_THAT(shown.out, ContainsSubstring("2 threads or processes"));
}

TEST_CASE("the comparison reports what a loader prints about its epochs") {
  const TemporaryFolder folder;
  WritePeer(folder / "peers/main",
            "echo 'something a library prints'\n"
            "[ $3 = play ] || exit 0\n"
            "echo '{\"event\": \"about\", \"text\": \"made up 1.0\"}'\n"
            "echo '{\"event\": \"first\"}'\n"
            "echo '{\"event\": \"begin\"}'\n"
            "echo '{\"event\": \"epoch\", \"images\": 20, \"seconds\": 2}'\n"
            "echo '{\"event\": \"epoch\", \"images\": 20, \"seconds\": 6}'\n"
            "echo '{\"event\": \"end\", \"distinct\": 20}'\n");
  const nlohmann::json answer =
      JsonOf(Compare(folder, {"--only", "spdl", "--peers", (folder / "peers").string(), "--json",
                              "--quality-images", "0", "--rounds", "2"}));
  const nlohmann::json& loader = answer["loaders"][1];
  CHECK(loader["settings"] == "made up 1.0");
  CHECK(loader["images_per_second"] == nlohmann::json({5.0, 5.0}));
  CHECK_THAT(answer["warnings"].dump(), ContainsSubstring("spdl gave 20 different pictures"));
}

TEST_CASE("a loader that takes too long is ended, with the processes it started") {
  const TemporaryFolder folder;
  WritePeer(folder / "peers/main", "sleep 1000 &\nsleep 1000\n");
  // The limit applies to sluice as well. It is raised until sluice is fast enough for it on this
  // machine, however busy the machine is.
  for (int limit = 1;; limit *= 4) {
    const std::string seconds = std::to_string(limit);
    const Outcome outcome =
        Compare(folder, {"--only", "dali", "--peers", (folder / "peers").string(), "--limit",
                         seconds, "--json", "--quality-images", "0", "--rounds", "1"});
    if (outcome.err.find("took longer") != std::string::npos && limit < 100) continue;
    CHECK_THAT(JsonOf(outcome)["loaders"][1].dump(),
               ContainsSubstring("took longer than " + seconds + " s"));
    return;
  }
}

TEST_CASE(
    "a recipe is played by sluice and by loaders that have its steps, and others say why not") {
  const TemporaryFolder folder;
  WritePeer(
      folder / "peers/main",
      "case $2 in dali) echo '{\"event\": \"missing\", \"why\": \"no blur\"}'; exit 0;; esac\n"
      "[ $3 = play ] || exit 0\n"
      "echo \"{\\\"event\\\": \\\"about\\\", \\\"text\\\": \\\"given ${10}\\\"}\"\n"
      "echo '{\"event\": \"begin\"}'\n"
      "echo '{\"event\": \"epoch\", \"images\": 24, \"seconds\": 2}'\n"
      "echo '{\"event\": \"end\", \"distinct\": 24}'\n");
  const nlohmann::json answer =
      JsonOf(Compare(folder, {"--only", "plain,dali,albumentations", "--recipe", "simclr",
                              "--peers", (folder / "peers").string(), "--json", "--rounds", "1"}));
  CHECK(answer["recipe"] == "simclr");
  CHECK_THAT(std::string(answer["transform"]),
             ContainsSubstring("2 views of rrc:32/0.08/1,flip,jitter:0.8/0.8/0.8/0.2@0.8"));
  CHECK(answer["loaders"][0]["distinct"] == 24);
  CHECK_FALSE(answer["loaders"][0].contains("psnr_db"));
  CHECK(answer["loaders"][1]["missing"] == "left out: it has no steps but a crop and a flip");
  CHECK(answer["loaders"][2]["missing"] == "left out: no blur");
  CHECK(answer["loaders"][3]["settings"] == "given simclr");
}

TEST_CASE("every recipe can be played, and an unknown one is wrong usage") {
  const TemporaryFolder folder;
  for (const char* const recipe : {"imagenet", "dino", "randaug", "detection"}) {
    const nlohmann::json answer = JsonOf(
        Compare(folder, {"--only", "sluice", "--recipe", recipe, "--json", "--rounds", "1"}));
    CHECK(answer["loaders"][0]["distinct"] == 24);
  }
  const Outcome outcome = Compare(folder, {"--recipe", "simclar"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err,
             ContainsSubstring("unknown recipe \"simclar\"; did you mean \"simclr\"?"));
}

TEST_CASE("an unknown loader is wrong usage") {
  const TemporaryFolder folder;
  const Outcome outcome = Compare(folder, {"--only", "sluice,other"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("unknown loader \"other\"; the loaders are: "));
  CHECK_THAT(Compare(folder, {"--only", "sluce"}).err,
             ContainsSubstring("unknown loader \"sluce\"; did you mean \"sluice\"?"));
}

TEST_CASE("a source that does not exist is an error before another one is measured") {
  const TemporaryFolder folder;
  const Outcome outcome = Compare(folder, {(folder / "missing").string(), "--only", "plain"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("/missing: does not exist"));
  CHECK_FALSE(std::filesystem::exists(folder / "work"));
}

TEST_CASE("a folder that sluice-bench compare did not make is not overwritten") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "work/ffcv");
  std::ofstream(folder / "work/ffcv/precious") << "mine";
  const Outcome outcome = Compare(folder, {"--only", "plain"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("--work"));
  CHECK(std::filesystem::file_size(folder / "work/ffcv/precious") == 4);
}

TEST_CASE("a work folder is reused, also for another source") {
  const TemporaryFolder folder;
  const Words once = {"--only", "plain", "--json", "--quality-images", "0", "--rounds", "1"};
  CHECK(JsonOf(Compare(folder, once))["samples"] == 24);
  std::filesystem::remove_all(folder / "source");
  WriteClasses(folder / "source", 5, 60, 80);
  const nlohmann::json again = JsonOf(Compare(folder, once));
  CHECK(again["samples"] == 15);
  CHECK(again["loaders"][1]["distinct"] == 15);
  CHECK(again["loaders"][0].contains("convert_seconds"));
}

TEST_CASE("a comparison in which sluice itself fails is a failure") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 8, 80, 60);
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  // Changes a byte of one picture. Copying the picture out does not notice the change, but playing
  // compares checksums.
  const std::string shard = data + "/shard-00000.sluice";
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(std::filesystem::file_size(shard) / 2));
  const auto at = file.tellg();
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
  file.close();
  const Outcome outcome =
      Bench({"compare", data, "--work", (folder / "work").string(), "--only", "plain", "--size",
             "32", "--seconds", "0", "--rounds", "1", "--quality-images", "0", "--quiet"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("shard-00000.sluice"));
}

namespace {

// The process id that a peer writes into a file; 0 until the whole line is written.
pid_t ProcessIdIn(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || file.eof()) return 0;
  return static_cast<pid_t>(std::stol(line));
}

// Whether the process has ended. True also if its parent has not waited for it yet.
bool HasEnded(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  return text.compare(text.rfind(')') + 2, 1, "Z") == 0;
}

}  // namespace

TEST_CASE("an interrupted comparison ends the running loader and its child processes") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 8, 80, 60);
  WritePeer(folder / "peers/main", "sleep 1000 &\necho $! >'" + (folder / "child").string() +
                                       "'\necho $$ >'" + (folder / "parent").string() +
                                       "'\nwait\n");
  const int signal = GENERATE(SIGINT, SIGKILL);
  Running running(SLUICE_BENCH_COMMAND,
                  {"compare", (folder / "source").string(), "--work", (folder / "work").string(),
                   "--only", "dali", "--peers", (folder / "peers").string(), "--seconds", "0",
                   "--size", "32", "--quality-images", "0", "--rounds", "1"});
  bool sent = false;
  const Outcome outcome = running.Wait([&](const Outcome&) {
    if (sent || ProcessIdIn(folder / "parent") == 0) return;
    running.Signal(signal);
    sent = true;
  });
  REQUIRE(sent);
  while (!HasEnded(ProcessIdIn(folder / "parent"))) {
  }
  if (signal == SIGKILL) {
    kill(ProcessIdIn(folder / "child"), SIGKILL);  // the killed command could not do it
    return;
  }
  CHECK(outcome.exit_code == 130);
  CHECK_THAT(outcome.err, ContainsSubstring("interrupted"));
  while (!HasEnded(ProcessIdIn(folder / "child"))) {
  }
}

TEST_CASE("a comparison that is interrupted while it converts ends with 130") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 60, 200, 150);
  Running running(SLUICE_BENCH_COMMAND,
                  {"compare", (folder / "source").string(), "--work", (folder / "work").string(),
                   "--only", "plain", "--threads", "1", "--rounds", "1000"});
  const Outcome outcome = running.Interrupt();
  CHECK(outcome.exit_code == 130);
  CHECK_THAT(outcome.err, ContainsSubstring("interrupted"));
}

}  // namespace sluice::test
