// The fuzz targets as ordinary tests: the seeds, the files in cases/, and the same mutations in
// each run.
//
// To find the input of a crash, set SLUICE_FUZZ_LAST=FILE: every input is then written to FILE
// before it runs.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/fuzz/forged_folder.h"
#include "tests/fuzz/forged_targets.h"
#include "tests/fuzz/jpeg_mutate.h"
#include "tests/fuzz/mutate.h"

namespace sluice::fuzz {

namespace {

void Run(const Target& target, const Input& input) {
  static const char* const last = std::getenv("SLUICE_FUZZ_LAST");
  if (last != nullptr) {
    std::ofstream file(last, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
  }
  target.run(input);
}

std::vector<Input> KeptCases(const Target& target) {
  std::vector<Input> cases;
  const std::filesystem::path folder = std::filesystem::path(SLUICE_FUZZ_CASES) / target.name;
  if (!std::filesystem::exists(folder)) return cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    cases.push_back(ToInput(test::ContentOf(entry.path())));
  }
  return cases;
}

void RunAll(const Target& target) {
  const std::vector<Input> seeds = target.seeds();
  Run(target, {});
  for (const Input& seed : seeds)
    Run(target, seed);
  for (const Input& input : KeptCases(target))
    Run(target, input);
  RandomStream random(1, static_cast<Purpose>(0xF22), 0);
  for (const Input& seed : seeds) {
    for (int i = 0; i < target.mutations; ++i) {
      Input input = seed;
      const Input& other = seeds[random.Below(seeds.size())];
      (target.mutate != nullptr ? target.mutate : Mutate)(input, other, random);
      Run(target, input);
    }
  }
}

}  // namespace

// One test case for each target, so that a failure names the reader.
TEST_CASE("manifests of any content are read or refused") {
  RunAll(TargetNamed("manifest"));
}
TEST_CASE("schemas of any content are read or refused") {
  RunAll(TargetNamed("schema"));
}
TEST_CASE("sections of keys of any content are read or refused") {
  RunAll(TargetNamed("keys"));
}
TEST_CASE("shards of any content are read or refused") {
  RunAll(TargetNamed("shard"));
}
TEST_CASE("payloads of any content are decoded or refused") {
  RunAll(TargetNamed("payload"));
}
TEST_CASE("JPEGs of any content are decoded as libjpeg does or refused, alike by all kernels") {
  RunAll(TargetNamed("jpeg"));
}
TEST_CASE("packed images of any content are decoded or refused, alike by all kernels") {
  RunAll(TargetNamed("packed"));
}
TEST_CASE("plans of any content are resumed or refused") {
  RunAll(TargetNamed("plan"));
}
TEST_CASE("receipts of any content are accepted or refused") {
  RunAll(TargetNamed("receipt"));
}
TEST_CASE("origins of any content are read or refused") {
  RunAll(TargetNamed("origin"));
}
TEST_CASE("sources of any content are converted or left out") {
  RunAll(TargetNamed("source"));
}
TEST_CASE("files of any content are stored as values or left out") {
  RunAll(TargetNamed("values"));
}
TEST_CASE("AVIF, HEIF, JPEG XL and JPEG 2000 of any content are converted or left out") {
  RunAll(TargetNamed("picture"));
}
TEST_CASE("tables of any content are read or refused") {
  RunAll(TargetNamed("table"));
}
TEST_CASE("label files of any content are read or refused") {
  RunAll(TargetNamed("labels"));
}
TEST_CASE("Parquet files of any content are read or refused") {
  RunAll(TargetNamed("parquet"));
}
TEST_CASE(".beton files of any content are read or refused") {
  RunAll(TargetNamed("beton"));
}
TEST_CASE("TFRecord and RecordIO files of any content are read or refused") {
  RunAll(TargetNamed("records"));
}
TEST_CASE("tar archives of any content are read or refused") {
  RunAll(TargetNamed("tar"));
}

#ifdef SLUICE_HAS_REMOTE
TEST_CASE("lists of objects of any content are read or refused") {
  RunAll(TargetNamed("listing"));
}
TEST_CASE("credentials and profiles of any content are read or refused") {
  RunAll(TargetNamed("credentials"));
}
TEST_CASE("URLs of any content are read or refused") {
  RunAll(TargetNamed("url"));
}
#endif

TEST_CASE("forged datasets are read or refused") {
  RunAll(TargetNamed("dataset"));
}
TEST_CASE("forged datasets are played or refused, within the loader's memory") {
  RunAll(TargetNamed("loader"));
}
TEST_CASE("forged datasets are verified or refused") {
  RunAll(TargetNamed("verify"));
}
TEST_CASE("forged datasets are repaired to faultless ones or refused") {
  RunAll(TargetNamed("repair"));
}
TEST_CASE("a subset of forged datasets is taken or refused") {
  RunAll(TargetNamed("subset"));
}
TEST_CASE("forged datasets are transcoded or refused") {
  RunAll(TargetNamed("transcode"));
}
TEST_CASE("forged datasets are merged or refused") {
  RunAll(TargetNamed("merge"));
}
TEST_CASE("forged datasets are extended or refused") {
  RunAll(TargetNamed("append"));
}
TEST_CASE("forged datasets are repacked or refused") {
  RunAll(TargetNamed("repack"));
}
TEST_CASE("forged datasets are inspected or refused") {
  RunAll(TargetNamed("inspect"));
}
TEST_CASE("forged datasets have statistics or are refused") {
  RunAll(TargetNamed("stats"));
}
TEST_CASE("forged datasets say when they are played or are refused") {
  RunAll(TargetNamed("when"));
}
TEST_CASE("forged datasets have a preview or are refused") {
  RunAll(TargetNamed("preview"));
}
TEST_CASE("forged datasets are exported or refused") {
  RunAll(TargetNamed("export"));
}

// Without this check, a reader that refuses every dataset would pass the tests above.
TEST_CASE("Each target of forged datasets accepts sound ones, and some mutations") {
  for (const std::span<const Target> targets : {ForgedTargets(), CommandTargets()}) {
    for (const Target& target : targets) {
      INFO(target.name);
      const std::vector<Input> seeds = target.seeds();
      RandomStream random(4, static_cast<Purpose>(0xF22), 0);
      std::size_t sound = 0, mutated = 0;
      for (std::uint8_t form = 0; form < 6; ++form) {
        const std::size_t before = TimesTaken();
        target.run(seeds[form]);
        sound += TimesTaken() - before;
        for (int i = 0; i < 5; ++i) {
          Input input = seeds[form];
          target.mutate(input, seeds.back(), random);
          target.run(input);
        }
        mutated += TimesTaken() - before;
      }
      CHECK(sound > 0);
      CHECK(mutated > sound);
    }
  }
}

// Without this check and the next one, a decoder that refuses everything would pass.
TEST_CASE(
    "All seeds of the packed target are compared with their JPEGs, and so are some mutations") {
  const std::vector<Input> seeds = PackedSeeds();
  RandomStream random(3, static_cast<Purpose>(0xF22), 0);
  std::size_t compared = 0;
  for (const Input& seed : seeds) {
    REQUIRE(ComparePacked(seed));
    for (int i = 0; i < 20; ++i) {
      Input input = seed;
      Mutate(input, seeds[random.Below(seeds.size())], random);
      compared += ComparePacked(input) ? 1 : 0;
    }
  }
  CHECK(compared > seeds.size());
}

TEST_CASE("All seeds of the JPEG target are compared with libjpeg, and so are many mutations") {
  const std::vector<Input> seeds = JpegSeeds();
  RandomStream random(2, static_cast<Purpose>(0xF22), 0);
  std::size_t compared = 0;
  for (const Input& seed : seeds) {
    REQUIRE(CompareJpeg(seed));
    for (int i = 0; i < 10; ++i) {
      Input input = seed;
      MutateJpeg(input, seeds[random.Below(seeds.size())], random);
      compared += CompareJpeg(input) ? 1 : 0;
    }
  }
  CHECK(compared > seeds.size() * 2);
}

}  // namespace sluice::fuzz
