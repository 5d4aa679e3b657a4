// sluice repair: whatever is damaged, every intact sample is saved.
#include <fstream>

#include <sluice/dataset.h>

#include "format/random.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// A dataset of two shards for a test to damage, and what it holds while it is whole.
struct DamagedAnimals {
  TemporaryFolder folder;
  std::string data = (folder / "data").string();
  std::string mended = (folder / "mended").string();
  std::vector<std::string> keys;  // of the whole dataset, in order
  std::vector<std::string> payloads;

  DamagedAnimals() {
    WriteClasses(folder / "source", 40, 80, 60);
    REQUIRE(Sluice({"convert", (folder / "source").string(), data, "--image", "raw",
                    "--shard-bytes", "1MB"})
                .exit_code == 0);
    const Dataset dataset = Dataset::Open(data);
    REQUIRE(dataset.shards().size() == 2);
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      keys.push_back(dataset[i].key());
      payloads.push_back(PixelsOf(dataset[i]));
    }
  }

  static std::string PixelsOf(const Sample& sample) {
    const auto bytes = sample.Payload().bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Runs repair and compares its result with the whole dataset. Returns the number of missing
  // samples.
  std::size_t Mend() {
    std::filesystem::remove_all(mended);
    const Outcome outcome = Sluice({"repair", data, mended, "--json"});
    INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
    const nlohmann::json answer = JsonOf(outcome);
    CHECK(outcome.exit_code == (answer["lost"].empty() ? 0 : 3));
    std::size_t lost = 0;
    bool keys_damaged = false;
    for (const auto& one : answer["lost"]) {
      const std::string reason = one["reason"];
      keys_damaged = keys_damaged || reason.find("its keys are damaged") == 0;
      lost += one["samples"].get<std::size_t>();
    }
    CHECK(Sluice({"verify", mended, "--quiet"}).exit_code == 0);
    const Dataset dataset = Dataset::Open(mended);
    std::size_t next = 0;
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      const std::string pixels = PixelsOf(dataset[i]);
      while (next < payloads.size() && payloads[next] != pixels)
        ++next;
      REQUIRE(next < payloads.size());  // each sample is intact, and they are in order
      const std::string key = dataset[i].key();
      const bool right = key == keys[next] || key.find('#') != std::string::npos || keys_damaged;
      CHECK(right);
      ++next;
    }
    CHECK(dataset.size() + lost == keys.size());
    return lost;
  }

  std::string Shard(int number) const {
    return data + "/shard-0000" + std::to_string(number) + ".sluice";
  }
  static void Flip(const std::string& file, std::size_t place) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(place));
    const char byte = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(place));
    stream.put(byte);
  }
};

}  // namespace

TEST_CASE("repair of a whole dataset links its shards") {
  DamagedAnimals animals;
  CHECK(animals.Mend() == 0);
  CHECK(std::filesystem::hard_link_count(animals.Shard(0)) == 2);
}

TEST_CASE("a lost manifest is rebuilt from the shards, in place or elsewhere") {
  DamagedAnimals animals;
  std::filesystem::remove(animals.data + "/manifest.json");
  CHECK(Sluice({"repair", animals.data}).exit_code == 1);  // convert would finish it
  std::filesystem::remove(animals.data + "/plan.json");
  CHECK(animals.Mend() == 0);
  CHECK(Sluice({"repair", animals.data}).exit_code == 0);
  CHECK(Sluice({"verify", animals.data, "--quiet"}).exit_code == 0);
  CHECK(Dataset::Open(animals.data).size() == animals.keys.size());
  CHECK(Sluice({"repair", animals.data}).exit_code == 2);  // there is nothing to do there
}

TEST_CASE("a damaged payload costs only its own sample") {
  DamagedAnimals animals;
  const std::string bytes = ContentOf(animals.Shard(0));
  const std::size_t place = bytes.find(animals.payloads[5]);
  REQUIRE(place != std::string::npos);
  DamagedAnimals::Flip(animals.Shard(0), place + 100);
  CHECK(animals.Mend() == 1);
}

TEST_CASE("a shard without its end, its header or its table loses as few samples as possible") {
  DamagedAnimals animals;
  const std::size_t size = std::filesystem::file_size(animals.Shard(0));
  SECTION("tail") {
    DamagedAnimals::Flip(animals.Shard(0), size - 30);
    CHECK(animals.Mend() == 0);
  }
  SECTION("header") {
    DamagedAnimals::Flip(animals.Shard(0), 20);
    CHECK(animals.Mend() == 0);
  }
  SECTION("the table of the first block") {
    DamagedAnimals::Flip(animals.Shard(0), 4096 + 70);
    const std::uint32_t block = Dataset::Open(animals.data).shards()[0].block_samples;
    CHECK(animals.Mend() == block);
  }
  SECTION("half of the file") {
    std::filesystem::resize_file(animals.Shard(0), size / 2 / 4096 * 4096);
    const std::size_t lost = animals.Mend();
    CHECK(lost > 0);
    CHECK(lost < animals.keys.size());
  }
  SECTION("the end of a file, from the middle of a payload in its only block") {
    const TemporaryFolder folder;
    WriteClasses(folder / "source", 3, 80, 60);
    const std::string data = (folder / "data").string();
    REQUIRE(Sluice({"convert", (folder / "source").string(), data, "--image", "raw"}).exit_code ==
            0);
    std::vector<std::string> payloads;
    {
      const Dataset dataset = Dataset::Open(data);
      REQUIRE(dataset.shards()[0].blocks == 1);
      for (std::uint64_t i = 0; i < dataset.size(); ++i)
        payloads.push_back(DamagedAnimals::PixelsOf(dataset[i]));
    }
    const std::string shard = data + "/shard-00000.sluice";
    std::filesystem::resize_file(shard,
                                 ContentOf(shard).find(payloads[5]) + payloads[5].size() / 2);
    const nlohmann::json answer =
        JsonOf(Sluice({"repair", data, (folder / "mended").string(), "--json"}));
    CHECK(answer["samples"] == 5);
    REQUIRE(answer["lost"].size() == 1);  // not one for each sample: the keys were lost as well
    CHECK(answer["lost"][0]["sample"] == 5);
    CHECK(answer["lost"][0]["samples"] == 4);
    const Dataset mended = Dataset::Open(folder / "mended");
    for (std::uint64_t i = 0; i < 5; ++i)
      CHECK(DamagedAnimals::PixelsOf(mended[i]) == payloads[i]);
  }
  SECTION("a whole shard") {
    std::filesystem::remove(animals.Shard(0));
    const Outcome outcome = Sluice({"repair", animals.data, animals.mended});
    CHECK(outcome.exit_code == 3);
    CHECK(Dataset::Open(animals.mended).size() == Dataset::Open(animals.data).shards()[1].samples);
  }
}

TEST_CASE("a shard overwritten by another one is lost, and two swapped shards are saved") {
  DamagedAnimals animals;
  const std::string first = ContentOf(animals.Shard(0));
  const std::string second = ContentOf(animals.Shard(1));
  SECTION("a copy of the second") {
    WriteBytes(animals.Shard(0), second);
    const Outcome outcome = Sluice({"repair", animals.data, animals.mended});
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.out.find("this file is a copy of shard-00001.sluice") != std::string::npos);
    CHECK(Dataset::Open(animals.mended).size() == Dataset::Open(animals.data).shards()[1].samples);
  }
  SECTION("each in the other's place") {
    WriteBytes(animals.Shard(0), second);
    WriteBytes(animals.Shard(1), first);
    CHECK(Sluice({"repair", animals.data, animals.mended}).exit_code == 0);
    CHECK(Dataset::Open(animals.mended).size() == animals.keys.size());
  }
}

TEST_CASE("a repacked dataset without its manifest is repaired with a warning") {
  DamagedAnimals animals;
  REQUIRE(Sluice({"append", "--repack", animals.data}).exit_code == 0);
  WriteBytes(animals.data + "/manifest.json", "{");
  const Outcome outcome = Sluice({"repair", animals.data, animals.mended});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("replaced occur twice") != std::string::npos);
}

TEST_CASE("1000 random damages cost no intact sample", "[slow]") {
  DamagedAnimals animals;
  const std::string whole = ContentOf(animals.Shard(0));
  RandomStream random(3, static_cast<Purpose>(999), 2);
  for (int round = 0; round < 1000; ++round) {
    INFO("round " << round);
    WriteBytes(animals.Shard(0), whole);
    const int flips = 1 + static_cast<int>(random.Below(3));
    for (int i = 0; i < flips; ++i)
      DamagedAnimals::Flip(animals.Shard(0), random.Below(whole.size()));
    if (random.Below(8) == 0) {
      std::filesystem::resize_file(animals.Shard(0), random.Below(whole.size()));
    }
    CHECK(Sluice({"verify", animals.data, "--quiet"}).exit_code == 1);
    animals.Mend();
  }
}

}  // namespace sluice::test
