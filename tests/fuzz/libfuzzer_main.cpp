// libFuzzer's entry for one target, whose name is compiled in. If the first argument that is not an
// option names an empty folder, the target's seeds are written into it first.
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  int first = 1;
  while (first < *argc && (*argv)[first][0] == '-')
    ++first;
  std::error_code none;
  if (first == *argc || !std::filesystem::is_empty((*argv)[first], none) || none) return 0;
  std::size_t number = 0;
  for (const sluice::fuzz::Input& seed : sluice::fuzz::TargetNamed(SLUICE_FUZZ_TARGET).seeds()) {
    std::ofstream file(std::filesystem::path((*argv)[first]) / ("seed-" + std::to_string(number++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sluice::fuzz::Target& target = sluice::fuzz::TargetNamed(SLUICE_FUZZ_TARGET);
  target.run(std::as_bytes(std::span(data, size)));
  return 0;
}
