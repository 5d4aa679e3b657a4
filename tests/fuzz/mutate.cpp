#include "tests/fuzz/mutate.h"

#include <algorithm>

namespace sluice::fuzz {

namespace {

constexpr std::size_t kMaxInputBytes = 1 << 16;

void SetWord(Input& input, std::size_t at, RandomStream& random) {
  static constexpr std::uint64_t kTelling[] = {
      0,          1,          0x7F, 0x80, 0xFF, 0x7FFF,     0xFFFF,
      0x7FFFFFFF, 0xFFFFFFFF, 4095, 4096, 64,   UINT64_MAX, UINT64_MAX - 4095};
  const std::size_t size = std::min(std::size_t{1} << random.Below(4), input.size() - at);
  std::uint64_t value = kTelling[random.Below(std::size(kTelling))];
  if (random.Below(4) == 0) {  // near to the old value
    value = 0;
    std::memcpy(&value, input.data() + at, size);
    value += random.Below(9) - 4;
  }
  std::memcpy(input.data() + at, &value, size);
}

void MutateOnce(Input& input, const Input& other, RandomStream& random) {
  if (input.empty()) input.push_back(std::byte{0});
  const std::size_t at = random.Below(input.size());
  const auto position = input.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t run = std::min<std::size_t>(random.Below(32) + 1, input.size() - at);
  const auto run_end = position + static_cast<std::ptrdiff_t>(run);
  switch (random.Below(8)) {
    case 0:
    case 1: input[at] ^= static_cast<std::byte>(1U << random.Below(8)); return;
    case 2: input[at] = static_cast<std::byte>(random.Below(256)); return;
    case 3:
    case 4: SetWord(input, at, random); return;
    case 5: input.erase(position, run_end); return;
    case 6: {
      if (input.size() + run > kMaxInputBytes) return;
      const Input copy(position, run_end);
      input.insert(position, copy.begin(), copy.end());
      return;
    }
    default: {
      if (other.empty()) return;
      const std::size_t from = random.Below(other.size());
      const std::size_t count = std::min(run, other.size() - from);
      std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), count, position);
      return;
    }
  }
}

}  // namespace

void Mutate(Input& input, const Input& other, RandomStream& random) {
  for (std::uint64_t left = random.Below(4) + 1; left > 0; --left) {
    MutateOnce(input, other, random);
  }
}

}  // namespace sluice::fuzz
