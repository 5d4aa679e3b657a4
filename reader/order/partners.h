// The positions whose samples a mosaic shows beside its own. ../ORDER.md specifies them.
//
// In the body of the lanes' order, a partner comes from another lane of the same line, and from a
// place of that lane's open window that is shifted by the same number for the whole epoch. So each
// sample is a partner once in each part of a row, no block outside of the open windows is read, and
// ranks that divide an eighth of the lanes show only samples of their own lanes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "format/random.h"

namespace sluice {

class Partners {
 public:
  static constexpr std::uint64_t kLaneGroups = 8;  // a partner's lane is L/8 or a multiple away
  static constexpr std::size_t kCount = 3;         // of a row
  using Three = std::array<std::uint64_t, kCount>;

  Partners(std::uint64_t seed, std::uint64_t epoch) noexcept {
    RandomStream draws(seed, Purpose::kPartners, epoch);
    line_key_ = draws.Word64();
    for (std::uint64_t& shift : shifts_)
      shift = draws.Word64();
    cycle_key_ = draws.Word64();
  }

  // By how many groups of lanes the partners of a line are away: three different numbers, 1 to 7.
  const Three& LanesOf(std::uint64_t line) noexcept {
    if (line_ == line) return lanes_;
    line_ = line;
    std::array<std::uint64_t, kLaneGroups - 1> numbers;
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{1});
    RandomStream draws(line_key_, Purpose::kPartners, line);
    for (std::size_t i = 0; i < kCount; ++i)
      std::swap(numbers[i], numbers[i + draws.Below(numbers.size() - i)]);
    std::copy_n(numbers.begin(), kCount, lanes_.begin());
    return lanes_;
  }
  // The place that comes instead of `place` in a window of `count` places.
  std::uint64_t Shifted(std::size_t j, std::uint64_t place, std::uint64_t count) const noexcept {
    return (place + shifts_[j] % count) % count;
  }
  // The same without windows: the places are a cycle, and the three partners of a place are at
  // different distances from it. In a cycle of fewer than four places, some partners are equal.
  std::uint64_t InCycle(std::size_t j, std::uint64_t place, std::uint64_t count) noexcept {
    if (count < kCount + 1) return (place + j + 1) % count;
    if (cycle_ != count) {
      cycle_ = count;
      RandomStream draws(cycle_key_, Purpose::kPartners, count);
      for (std::size_t i = 0; i < kCount; ++i) {
        std::uint64_t away = 1 + draws.Below(count - 1 - i);
        Three before = away_;
        std::sort(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(i));
        for (std::size_t k = 0; k < i; ++k)
          away += away >= before[k] ? 1 : 0;
        away_[i] = away;
      }
    }
    return (place + away_[j]) % count;
  }

 private:
  std::uint64_t line_key_ = 0, cycle_key_ = 0;
  Three shifts_{};
  std::uint64_t line_ = ~std::uint64_t{0};
  Three lanes_{};
  std::uint64_t cycle_ = 0;
  Three away_{};
};

}  // namespace sluice
