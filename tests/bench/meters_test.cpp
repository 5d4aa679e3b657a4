// Meters of a measurement: energy counters of the CPUs, and the use of a GPU by NVML.
#include "bench/machine/meters.h"

#include <fstream>
#include <string>

#include "bench/epoch/run.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace sluice::bench {

namespace {

void WriteNumber(const std::filesystem::path& path, const std::string& number) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << number << '\n';
}

}  // namespace

TEST_CASE("joules are the sum over all packages, without counting their parts again") {
  const test::TemporaryFolder folder;
  const std::filesystem::path root = folder / "powercap";
  for (const char* name : {"intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"}) {
    WriteNumber(root / name / "energy_uj", "1000000");
    WriteNumber(root / name / "max_energy_range_uj", "262143328850");
  }
  EnergyMeter meter(root);
  WriteNumber(root / "intel-rapl:0/energy_uj", "4000000");
  WriteNumber(root / "intel-rapl:1/energy_uj", "1500000");
  WriteNumber(root / "intel-rapl:0:0/energy_uj", "9000000");
  CHECK(meter.Joules().value_or(-1) == Approx(3.5));
  CHECK(meter.Joules().value_or(-1) == Approx(0));
}

TEST_CASE("a counter of joules that overflowed continues from 0") {
  const test::TemporaryFolder folder;
  const std::filesystem::path package = folder / "powercap/intel-rapl:0";
  WriteNumber(package / "energy_uj", "9000000");
  WriteNumber(package / "max_energy_range_uj", "10000000");
  EnergyMeter meter(folder / "powercap");
  WriteNumber(package / "energy_uj", "500000");
  CHECK(meter.Joules().value_or(-1) == Approx(1.5));
}

TEST_CASE("without readable counters joules are not reported") {
  const test::TemporaryFolder folder;
  CHECK_FALSE(EnergyMeter(folder / "nothing").Joules());
  std::filesystem::create_directories(folder / "powercap/intel-rapl:0");
  CHECK_FALSE(EnergyMeter(folder / "powercap").Joules());
}

TEST_CASE("A GPU's use comes from NVML, if NVML is installed and knows the GPU") {
  GpuMeter meter("0000:65:00.0", NVML_DOUBLE);
  for (int times = 0; times < 2; ++times) {
    const std::optional<GpuUse> use = meter.Take();
    REQUIRE(use);
    CHECK(use->busy == Approx(0.4));
    CHECK(use->memory_bytes == 5'000'000'000);
    CHECK(use->memory_total_bytes == 80'000'000'000);
  }
  CHECK_FALSE(GpuMeter("0000:01:00.0", NVML_DOUBLE).Take());
  CHECK_FALSE(GpuMeter("", NVML_DOUBLE).Take());
  CHECK_FALSE(GpuMeter("0000:65:00.0", "libno-such-library.so.1").Take());
}

TEST_CASE("The verdict names the steps that take the time, and what makes them cheaper") {
  EpochsRun run;
  run.stats.batches = 100;
  run.stats.threads = 2;
  run.stats.seconds = 10;
  run.stats.consumer_wait_seconds = 9;
  run.stats.consumer_seconds = 1;
  run.stats.decode_seconds = run.stats.decode_cpu_seconds = 20;
  run.parts = {
      {"blur", true, 8.0}, {"jitter", true, 7.0}, {"decode", false, 4.4}, {"other", false, 0.6}};
  CHECK(VerdictOf(run) ==
        run.stats.Verdict() +
            "; of the decoding threads' work, blur took 40%, jitter 35%, decoding "
            "22%; a smaller kernel makes the blur cheaper, and a GPU can take over "
            "the last steps (--device cuda:0)");
  run.parts = {{"decode", false, 3.0}, {"gray", true, 1.0}};
  CHECK(VerdictOf(run) ==
        run.stats.Verdict() + "; of the decoding threads' work, decoding took 75%, gray 25%");
  run.stats.consumer_wait_seconds = 0;  // bound by the trainer: the parts do not matter
  CHECK(VerdictOf(run) == run.stats.Verdict());
}

TEST_CASE("The verdict of epochs says how busy the GPU was, if that is known") {
  EpochsRun run;
  run.epochs.resize(3);
  CHECK(VerdictOf(run) == run.stats.Verdict());
  run.epochs[0].warm_up = true;
  run.epochs[0].gpu = {0.9, 9'000'000'000, 80'000'000'000};
  run.epochs[1].gpu = {0.4, 5'000'000'000, 80'000'000'000};
  run.epochs[2].gpu = {0.5, 4'000'000'000, 80'000'000'000};
  CHECK(VerdictOf(run) == run.stats.Verdict() +
                              "; the GPU was busy 45% of the time by NVML, with at most 5.00 GB "
                              "of its 80.0 GB in use");
}

}  // namespace sluice::bench
