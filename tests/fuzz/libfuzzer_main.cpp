// libFuzzer's entry for one target, whose name is compiled in.
#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sluice::fuzz::Target& target = sluice::fuzz::TargetNamed(SLUICE_FUZZ_TARGET);
  target.run(std::as_bytes(std::span(data, size)));
  return 0;
}
