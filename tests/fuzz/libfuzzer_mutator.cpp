// libFuzzer's entry for targets with mutations of their own. One time in four, it uses libFuzzer's
// mutations instead.
#include "tests/fuzz/targets.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  using namespace sluice::fuzz;
  static const Target& target = TargetNamed(SLUICE_FUZZ_TARGET);
  static const std::vector<Input> seeds = target.seeds();
  sluice::RandomStream random(seed, static_cast<sluice::Purpose>(0xF25), 0);
  if (random.Below(4) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  Input input(bytes, bytes + size);
  target.mutate(input, seeds[random.Below(seeds.size())], random);
  size = std::min(input.size(), max_size);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(input.data()), size, data);
  return size;
}
