// sluice-bench convert: its counts and messages. No test here depends on speed.
#include <sluice/dataset.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// Makes a folder of peers in which the script takes the place of FFCV's Python and prints what
// FFCV would print.
void WritePeers(const std::filesystem::path& folder, const std::string& script) {
  WriteBytes(folder / "convert_ffcv.py", "");
  WriteBytes(folder / "ffcv" / "bin" / "python", "#!/bin/sh\n" + script);
  std::filesystem::permissions(folder / "ffcv" / "bin" / "python",
                               std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("bench convert measures each round and the stages, and removes what it wrote") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 4);
  WriteBytes(folder / "source" / "cat" / "broken.jpg", TruncatedJpeg());
  const std::string work = (folder / "work").string();
  const nlohmann::json answer =
      JsonOf(Bench({"convert", (folder / "source").string(), "--work", work, "--rounds", "2",
                    "--threads", "2", "--stage-images", "5", "--json"}));
  CHECK(answer["schema"] == "sluice-bench/1");
  CHECK(answer["command"] == "convert");
  CHECK(answer["images"] == 12);
  CHECK(answer["left_out"] == 1);
  CHECK(answer["threads"] == 2);
  CHECK(answer["ratio"].is_null());
  CHECK(answer["stage_images"].get<int>() >= 4);  // the broken one is skipped
  CHECK(answer["writers"][0]["name"] == "sluice");
  CHECK(answer["writers"][0]["images_per_second"].size() == 2);
  CHECK(answer["writers"][1]["missing"].get<std::string>().find("--peers") != std::string::npos);
  double share = 0;
  for (const auto& stage : answer["stages"])
    share += stage["share"].get<double>();
  CHECK(share == Approx(1));
  CHECK_FALSE(std::filesystem::exists(work));
}

TEST_CASE("bench convert lets FFCV write the convertible images, in every round") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2);
  WriteBytes(folder / "source" / "cat" / "broken.jpg", TruncatedJpeg());
  // Arguments: script, list, file, workers, side, quality.
  WritePeers(folder / "peers",
             "cat \"$2\" >>'" + (folder / "lists").string() + "'\n" + "echo \"$4 $5 $6\" >>'" +
                 (folder / "settings").string() + "'\n" +
                 "printf 12345 >\"$3\"\n"
                 "echo '{\"event\": \"about\", \"text\": \"a pretender\"}'\n"
                 "echo '{\"event\": \"begin\"}'\n"
                 "echo '{\"event\": \"epoch\", \"images\": 6, \"seconds\": 2.0}'\n"
                 "echo '{\"event\": \"end\", \"distinct\": 6}'\n");
  const nlohmann::json answer =
      JsonOf(Bench({"convert", (folder / "source").string(), "--work", (folder / "work").string(),
                    "--peers", (folder / "peers").string(), "--rounds", "3", "--threads", "1",
                    "--max-side", "20", "--quality", "77", "--json"}));
  CHECK(answer["writers"][1]["settings"] == "a pretender");
  CHECK(answer["writers"][1]["images_per_second"] == nlohmann::json{3.0, 3.0, 3.0});
  CHECK(answer["writers"][1]["bytes_on_disk"] == 5);
  CHECK(answer["ratio"].is_number());
  CHECK(ContentOf(folder / "settings") == "1 20 77\n1 20 77\n1 20 77\n");
  std::string lists = ContentOf(folder / "lists");
  CHECK(std::count(lists.begin(), lists.end(), '\n') == 18);
  CHECK(lists.find("broken") == std::string::npos);
}

TEST_CASE("bench convert says why FFCV did not run, and continues") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1);
  WritePeers(folder / "peers", "echo 'no module named ffcv' >&2\nexit 1\n");
  const Outcome outcome =
      Bench({"convert", (folder / "source").string(), "--work", (folder / "work").string(),
             "--peers", (folder / "peers").string(), "--rounds", "2", "--quiet"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("did not run: no module named ffcv") != std::string::npos);
  CHECK(outcome.out.find("decode and resize") != std::string::npos);
}

TEST_CASE("bench convert leaves other files in its work folder alone") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2);
  WriteBytes(folder / "work" / "sluice" / "precious", "mine");
  WriteBytes(folder / "work" / "paths.txt", "mine");
  CHECK(Bench({"convert", (folder / "source").string(), "--work", (folder / "work").string(),
               "--rounds", "1", "--quiet"})
            .exit_code == 0);
  CHECK(ContentOf(folder / "work" / "sluice" / "precious") == "mine");
  CHECK(ContentOf(folder / "work" / "paths.txt") == "mine");
  const std::filesystem::directory_iterator inside(folder / "work"), end;
  CHECK(std::distance(inside, end) == 2);
}

}  // namespace sluice::test
