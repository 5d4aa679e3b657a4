// sluice_fuzz_seeds FOLDER: writes the seeds of each target into FOLDER/TARGET/, a corpus to start
// libFuzzer with.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: sluice_fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  for (const sluice::fuzz::Target& target : sluice::fuzz::Targets()) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / target.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const sluice::fuzz::Input& seed : target.seeds()) {
      std::ofstream file(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.data()),
                 static_cast<std::streamsize>(seed.size()));
      if (!file) return 1;
    }
  }
  return 0;
}
