#include "tests/fuzz/forged_change.h"

namespace sluice::fuzz {

std::uint64_t NumberFor(const Change& change, std::uint64_t old) {
  static constexpr std::uint64_t kTelling[] = {
      0,     1,          2,          255,        4095,       4096,       65535,
      65536, 0x7FFFFFFF, 0xFFFFFFFF, 1ULL << 48, 1ULL << 53, 1ULL << 63, UINT64_MAX};
  constexpr std::size_t kOthers = 6;
  const std::size_t choice = change.value % (std::size(kTelling) + kOthers);
  switch (choice) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old * 2;
    case 3: return old ^ 1ULL << change.number % 64;
    case 4: return change.number % 64;
    case 5: return change.number;
    default: return kTelling[choice - kOthers];
  }
}

void ChangeWord(std::span<std::byte> bytes, const Change& change) {
  const std::size_t size = std::size_t{1} << change.size % 4;
  if (bytes.size() < size) return;
  const std::size_t at = change.at % (bytes.size() / size) * size;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, size);
  word = NumberFor(change, word);
  std::memcpy(bytes.data() + at, &word, size);
}

}  // namespace sluice::fuzz
