// sluice verify: the faults that it finds, how it reports them, and how it is interrupted.
#include <csignal>
#include <fstream>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>

#include "tests/sanitized.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

struct CheckedAnimals {
  TemporaryFolder folder;
  std::string data = (folder / "data").string();
  std::string shard = data + "/shard-00000.sluice";

  CheckedAnimals() {
    WriteClasses(folder / "source", 4);
    REQUIRE(
        Sluice({"convert", (folder / "source").string(), data, "--keep-order", "--image", "raw"})
            .exit_code == 0);
  }

  // Changes one byte in the middle of a sample's pixels, which it searches for in the shard.
  void DamagePayload(std::uint64_t sample) const {
    const std::string bytes = ContentOf(shard);
    const Sample whole = Dataset::Open(data)[sample];
    const auto payload = whole.Payload().bytes;
    const std::string pixels(reinterpret_cast<const char*>(payload.data()), payload.size());
    const std::size_t place = bytes.find(pixels);
    REQUIRE(place != std::string::npos);
    Damage(place + pixels.size() / 2);
  }
  void Damage(std::size_t place) const {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(place));
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(place));
    file.put(byte);
  }
};

// A dataset with right checksums whose second image is truncated.
std::string WriteWithBrokenImage(const TemporaryFolder& folder) {
  std::string data = (folder / "broken").string();
  Schema schema;
  schema.fields = {Field::Image()};
  DatasetWriter writer(data, schema);
  const std::vector<std::byte> good = MakeJpeg(MakePicture(64, 64));
  const std::string cut = TruncatedJpeg() + "\xFF\xD9";  // an end marker, which writers trust
  SampleBuilder sample = writer.NewSample("good");
  sample.SetJpeg("image", good);
  writer.Add(sample);
  sample.Reset("cut");
  sample.SetJpeg("image", std::as_bytes(std::span(cut)));
  writer.Add(sample);
  writer.Finish();
  return data;
}

}  // namespace

TEST_CASE("verify of a whole dataset finds nothing and ends with 0") {
  const CheckedAnimals animals;
  const Outcome outcome = Sluice({"verify", animals.data});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("no faults, 12 samples"));
  // If the command takes longer than a minute, there is a line for each minute, too.
  CHECK(outcome.err.starts_with("verifying " + animals.data + "\n"));
  const nlohmann::json answer =
      JsonOf(Sluice({"verify", animals.data, "--json", "--threads", "2"}));
  CHECK(answer["samples"] == 12);
  CHECK(answer["faults"].empty());
  CHECK(answer["bytes"].get<std::uint64_t>() >= 12ULL * 40 * 30 * 3);
}

TEST_CASE("verify names the shard, sample and key of a changed payload and ends with 1") {
  const CheckedAnimals animals;
  animals.DamagePayload(5);
  const Outcome outcome = Sluice({"verify", animals.data});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.out, ContainsSubstring("shard-00000.sluice, sample 5 (dog/1.jpg): "));
  CHECK_THAT(outcome.out, ContainsSubstring("1 fault"));
  const Outcome json = Sluice({"verify", animals.data, "--json"});
  CHECK(json.exit_code == 1);
  const nlohmann::json faults = JsonOf(json)["faults"];
  REQUIRE(faults.size() == 1);
  CHECK(faults[0]["shard"] == "shard-00000.sluice");
  CHECK(faults[0]["sample"] == 5);
  CHECK(faults[0]["key"] == "dog/1.jpg");
  CHECK_THAT(faults[0]["reason"].get<std::string>(), ContainsSubstring("checksum"));
}

TEST_CASE("verify finds damage that affects no sample") {
  const CheckedAnimals animals;
  animals.Damage(std::filesystem::file_size(animals.shard) - 20);  // the tail
  const Outcome outcome = Sluice({"verify", animals.data, "--json"});
  CHECK(outcome.exit_code == 1);
  const nlohmann::json faults = JsonOf(outcome)["faults"];
  REQUIRE_FALSE(faults.empty());
  CHECK(faults[0]["shard"] == "shard-00000.sluice");
  CHECK(faults[0]["sample"].is_null());
}

TEST_CASE("verify finds a missing shard") {
  const CheckedAnimals animals;
  std::filesystem::remove(animals.shard);
  const Outcome outcome = Sluice({"verify", animals.data});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.out + outcome.err, ContainsSubstring("shard-00000.sluice"));
}

TEST_CASE("verify finds a changed manifest") {
  const CheckedAnimals animals;
  std::string manifest = ContentOf(animals.data + "/manifest.json");
  manifest.replace(manifest.find("\"dog\""), 5, "\"dag\"");
  WriteBytes(animals.data + "/manifest.json", manifest);
  const Outcome outcome = Sluice({"verify", animals.data});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.out + outcome.err, ContainsSubstring("manifest.json"));
}

TEST_CASE("verify --decode finds images that were already broken when they were written") {
  const TemporaryFolder folder;
  const std::string data = WriteWithBrokenImage(folder);
  CHECK(Sluice({"verify", data}).exit_code == 0);
  const Outcome outcome = Sluice({"verify", data, "--decode", "--json"});
  CHECK(outcome.exit_code == 1);
  const nlohmann::json faults = JsonOf(outcome)["faults"];
  REQUIRE(faults.size() == 1);
  CHECK(faults[0]["sample"] == 1);
  CHECK(faults[0]["key"] == "cut");
}

TEST_CASE("verify --quiet prints faults and nothing else") {
  const CheckedAnimals animals;
  const Outcome good = Sluice({"verify", animals.data, "--quiet"});
  CHECK(good.exit_code == 0);
  CHECK(good.out.empty());
  CHECK(good.err.empty());
  animals.DamagePayload(0);
  const Outcome bad = Sluice({"verify", animals.data, "--quiet"});
  CHECK(bad.exit_code == 1);
  CHECK(std::count(bad.out.begin(), bad.out.end(), '\n') == 1);
  CHECK(bad.err.empty());
}

namespace {

// A dataset that takes long to decode (ten seconds on one thread) but no time to make: one large
// picture without detail, many times. On a busy machine, verify may finish before a test interrupts
// it; the test then tries again.
constexpr int kManyImages = 200;
constexpr int kAttempts = 10;

std::string WriteManyLargeImages(const TemporaryFolder& folder) {
  std::string data = (folder / "many").string();
  Schema schema;
  schema.fields = {Field::Image()};
  DatasetWriter writer(data, schema, {.name = "many", .shard_bytes = 1'000'000});
  const std::uint32_t side = kSanitized ? 2000 : 6000;
  Picture grey{side, side, 1, {}};
  grey.pixels.assign(std::size_t{grey.width} * grey.height, 128);
  const std::vector<std::byte> file = MakeJpeg(grey, {.quality = 80});
  for (int i = 0; i < kManyImages; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    sample.SetJpeg("image", file);
    writer.Add(sample);
  }
  writer.Finish();
  return data;
}

}  // namespace

TEST_CASE("verify --threads sets how many threads check") {
  const TemporaryFolder folder;
  const std::string data = WriteManyLargeImages(folder);
  // Counts the command's threads again and again, and interrupts it once it has `enough`, or after
  // `counts` counts since it was ready to be interrupted.
  const auto most_threads = [&data](const std::string& threads, std::size_t enough, int counts) {
    Running running(SLUICE_COMMAND, {"verify", data, "--decode", "--threads", threads});
    std::size_t most = 0;
    running.Wait([&](const Outcome&) {
      most = std::max(most, running.Threads());
      if (!running.WaitsForInterrupts()) return;
      if (most >= enough || counts-- <= 0) running.Signal(SIGINT);
    });
    return most;
  };
  CHECK(most_threads("1", 4, 200) <= 3);  // main, signals, perhaps one that checks
  std::size_t with_six = 0;
  for (int attempt = 0; attempt < kAttempts && with_six < 6; ++attempt)
    with_six = most_threads("6", 6, 1'000'000);
  CHECK(with_six >= 6);
}

TEST_CASE("an interrupted verify ends with 130 and reports the faults found so far") {
  const TemporaryFolder folder;
  const std::string data = WriteManyLargeImages(folder);
  const bool json = GENERATE(false, true);
  Words words = {"verify", data, "--decode", "--threads", "1"};
  if (json) words.push_back("--json");
  Outcome outcome;
  bool again = true;
  for (int attempt = 0; attempt < kAttempts && again; ++attempt) {
    Running running(SLUICE_COMMAND, words);
    bool sent = false;
    outcome = running.Wait([&](const Outcome&) {
      if (sent || !running.WaitsForInterrupts()) return;
      running.Signal(SIGINT);
      sent = true;
    });
    again = outcome.exit_code == 0;
  }
  CHECK(outcome.signal == 0);
  CHECK(outcome.exit_code == 130);
  if (json) {
    CHECK(JsonOf(outcome)["stopped"] == true);
    CHECK(JsonOf(outcome)["samples"].get<int>() < kManyImages);
  } else {
    CHECK_THAT(outcome.out, ContainsSubstring("until interrupted"));
  }
}

}  // namespace sluice::test
