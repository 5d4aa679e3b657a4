// A permutation of 0 .. n-1 chosen by a key.
//
// For up to 65536 elements, this is a table made by the Fisher-Yates shuffle: every permutation is
// equally likely, as far as a key of 64 bits allows. For more, it is a Feistel network over the
// next power of two, applied again until the result is less than n (Black and Rogaway 2002). A
// network takes the same little memory for any n.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sluice {

class Permutation {
 public:
  Permutation() = default;
  Permutation(std::uint64_t n, std::uint64_t key);
  // Like constructing it again, but reuses its memory.
  void Reset(std::uint64_t n, std::uint64_t key);

  std::uint64_t size() const noexcept { return n_; }
  std::uint64_t operator()(std::uint64_t i) const noexcept {  // i < size()
    return table_.empty() ? Walk(i) : table_[i];
  }
  // The i whose image is `value`. For a table, the first call takes O(n) and as much memory again.
  std::uint64_t Inverse(std::uint64_t value);

 private:
  static constexpr int kRounds = 8;
  std::uint64_t Walk(std::uint64_t i) const noexcept;
  std::uint64_t Forward(std::uint64_t value) const noexcept;
  std::uint64_t Backward(std::uint64_t value) const noexcept;

  std::uint64_t n_ = 0;
  std::vector<std::uint16_t> table_;
  std::vector<std::uint16_t> inverse_;  // of table_; empty until Inverse() is called
  int low_bits_ = 0;
  std::uint64_t low_mask_ = 0;
  std::uint64_t high_mask_ = 0;
  std::array<std::uint64_t, kRounds> round_keys_{};
};

}  // namespace sluice
