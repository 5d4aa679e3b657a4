// sluice-bench's commands for a card, run on a simulated card (tests/device/cuda_double).
#ifdef SLUICE_BENCH_DOUBLE

#include "tests/file_content.h"
#include "tests/tools/animals.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

Outcome BenchOnCard(const Words& words) {
  return Run(SLUICE_BENCH_DOUBLE, words);
}

Outcome EpochOnCard(const std::string& data, const Words& options) {
  Words words = {"epoch", data,          "--device",    "cuda:0",    "--batch-size",
                 "4",     "--transform", "rrc:16,flip", "--threads", "1"};
  words.insert(words.end(), options.begin(), options.end());
  return BenchOnCard(words);
}

}  // namespace

TEST_CASE("epoch reports the work of the card, the bus and the CPUs: as text, JSON and a page") {
  const Animals animals;
  const TemporaryFolder folder;
  const std::string page = (folder / "page.html").string();
  const nlohmann::json answer = JsonOf(EpochOnCard(
      animals.data(), {"--device-decode", "device", "--json", "--html", page, "--repeat", "2"}));
  const nlohmann::json& use = answer["device_use"];
  INFO(use.dump());
  CHECK(use["samples"] == 3 * 60);
  CHECK(use["images"] == 3 * 60);
  // Some of the pictures were decoded ahead, during the warm-up, and do not count.
  CHECK(use["decoded_images"].get<int>() > 2 * 60);
  CHECK(use["decode_seconds"].get<double>() > 0);
  CHECK(use["upload_seconds"].get<double>() > 0);
  CHECK(use["bare_copies_bytes_per_second"].get<double>() > 0);
  CHECK(use["cpus_busy"].get<double>() > 0);
  CHECK(use["cpus"].get<int>() > 0);
  CHECK_THAT(use["words"]["decoding"].get<std::string>(), ContainsSubstring("by the device"));
  CHECK_THAT(use["words"]["GPU"].get<std::string>(), ContainsSubstring("NVML"));
  CHECK_THAT(answer["verdict"].get<std::string>(), ContainsSubstring("decoding on the device"));
  CHECK(answer["stages"].size() == 5);
  const std::string text = ContentOf(page);
  for (const char* words : {"To the device", "bare pinned copies", "by the device", "NVML"})
    CHECK_THAT(text, ContainsSubstring(words));

  const Outcome shown = EpochOnCard(animals.data(), {"--device-decode", "device"});
  REQUIRE(shown.exit_code == 0);
  for (const char* words : {"to cuda:0:\n", "\n  decoding ", "\n  bus ", "\n  CPUs ", "\n  GPU ",
                            "(pinned", "\ndecode on device"})
    CHECK_THAT(shown.out, ContainsSubstring(words));
  for (std::size_t begin = 0; begin < shown.out.size();) {
    const std::size_t end = shown.out.find('\n', begin);
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
}

TEST_CASE("epoch says whether the card was not asked to decode, or could decode no picture") {
  const Animals raw({"--image", "raw", "--size", "20"});
  CHECK_THAT(EpochOnCard(raw.data(), {}).out, ContainsSubstring("decoding   by the CPUs\n"));
  CHECK_THAT(EpochOnCard(raw.data(), {"--device-decode", "device"}).out,
             ContainsSubstring("the device decoded none"));
}

TEST_CASE("upload reports the rates of the bus, the work of the CPUs, and NVML's figures") {
  const Words words = {"upload", "--batch-size", "4", "--side",      "64",  "--batches",
                       "4",      "--rounds",     "2", "--normalize", "bf16"};
  const Outcome shown = BenchOnCard(words);
  REQUIRE(shown.exit_code == 0);
  for (const char* part : {"copies alone", "of the rate of copies alone", "converting a batch",
                           "\nCPUs: ", "\nGPU: unknown"})
    CHECK_THAT(shown.out, ContainsSubstring(part));
  Words json = words;
  json.push_back("--json");
  const nlohmann::json answer = JsonOf(BenchOnCard(json));
  CHECK(answer["measurements"].size() == 2);
  CHECK(answer["cpus_busy"].get<double>() >= 0);
  CHECK(answer["conversion_seconds"].get<double>() > 0);
  // Each image crosses the bus once, and so do labels and the padding to pages.
  const double images = 4 * 64 * 64 * 3;
  CHECK(answer["batch_bytes"].get<double>() >= images);
  CHECK(answer["batch_bytes"].get<double>() < images + 8192);
}

TEST_CASE("compare plays every picture to a card, with the host's pixels") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 4, 80, 60);
  const nlohmann::json answer = JsonOf(BenchOnCard(
      {"compare", (folder / "source").string(), "--work", (folder / "work").string(), "--size",
       "32", "--threads", "1", "--seconds", "0", "--batch-size", "4", "--rounds", "1",
       "--quality-images", "2", "--only", "sluice-cuda,sluice-packed-cuda", "--json"}));
  REQUIRE(answer["loaders"].size() == 3);
  for (const nlohmann::json& loader : answer["loaders"]) {
    INFO(loader.dump());
    REQUIRE(loader["distinct"] == 12);
    CHECK(loader["psnr_db"] == answer["loaders"][0]["psnr_db"]);
  }
  CHECK_THAT(answer["loaders"][1]["settings"].get<std::string>(), ContainsSubstring("cuda:0"));
}

}  // namespace sluice::test

#endif
