// All shuffled orders are made of these permutations. If the result changes for any n and key, all
// orders change, and kOrderVersion (sluice/version.h) must be raised.
//
// The network splits a number into a lower and an upper half, which differ by a bit if the number
// of bits is odd. Each round changes one half by a function of the other, and can therefore be
// undone, whatever Mix() returns. Its range is less than twice n, so Walk() needs fewer than two
// passes in the mean. Walk() always ends, because the network is a permutation and `i` itself is
// less than n.
#include "reader/order/permutation.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "format/random.h"

namespace sluice {

namespace {

constexpr std::uint64_t kTableLimit = 65536;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants by Stafford): every input bit
// moves every output bit.
constexpr std::uint64_t Mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t key) {
  Reset(n, key);
}

void Permutation::Reset(std::uint64_t n, std::uint64_t key) {
  n_ = n;
  inverse_.clear();
  RandomStream random(key, Purpose::kPermutation, n);
  if (n <= kTableLimit) {
    table_.resize(n);
    std::iota(table_.begin(), table_.end(), std::uint16_t{0});
    for (std::uint64_t i = n; i > 1; --i)
      std::swap(table_[i - 1], table_[random.Below(i)]);
    return;
  }
  table_.clear();
  const auto bits = static_cast<int>(std::bit_width(n - 1));
  low_bits_ = bits / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
  for (std::uint64_t& round_key : round_keys_)
    round_key = random.Word64();
}

std::uint64_t Permutation::Forward(std::uint64_t value) const noexcept {
  std::uint64_t low = value & low_mask_;
  std::uint64_t high = value >> low_bits_;
  for (int round = 0; round < kRounds; round += 2) {
    high ^= Mix(low + round_keys_[round]) & high_mask_;
    low ^= Mix(high + round_keys_[round + 1]) & low_mask_;
  }
  return high << low_bits_ | low;
}

std::uint64_t Permutation::Backward(std::uint64_t value) const noexcept {
  std::uint64_t low = value & low_mask_;
  std::uint64_t high = value >> low_bits_;
  for (int round = kRounds; round > 0; round -= 2) {
    low ^= Mix(high + round_keys_[round - 1]) & low_mask_;
    high ^= Mix(low + round_keys_[round - 2]) & high_mask_;
  }
  return high << low_bits_ | low;
}

std::uint64_t Permutation::Walk(std::uint64_t i) const noexcept {
  do {
    i = Forward(i);
  } while (i >= n_);
  return i;
}

std::uint64_t Permutation::Inverse(std::uint64_t value) {
  if (!table_.empty()) {
    if (inverse_.empty()) {
      inverse_.resize(n_);
      for (std::uint64_t i = 0; i < n_; ++i)
        inverse_[table_[i]] = static_cast<std::uint16_t>(i);
    }
    return inverse_[value];
  }
  do {
    value = Backward(value);
  } while (value >= n_);
  return value;
}

}  // namespace sluice
