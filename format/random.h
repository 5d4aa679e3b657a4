// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", 2011). The same (key, counter) always gives the same four words, on
// any thread and in any order, so a draw needs no state.
#pragma once

#include <array>
#include <cstdint>

namespace sluice {

using Words4 = std::array<std::uint32_t, 4>;
__extension__ using Wide = unsigned __int128;  // for the high half of a 64 x 64 bit product

#define SLUICE_INLINE constexpr
#include "format/philox.inc.h"
#undef SLUICE_INLINE

constexpr Words4 Philox(std::uint64_t key, Words4 counter) noexcept {
  TakePhilox(key, counter.data());
  return counter;
}

// The purpose of a stream of draws. It is part of every counter, so that streams never share
// numbers. Orders, transforms and conversions depend on the values below as if they were on disk: a
// value is never changed or used for another purpose.
enum class Purpose : std::uint32_t {
  kConvertOrder = 1,     // the permutation of the samples at conversion
  kBlockOrder = 2,       // reader: the permutation of blocks
  kWindowOrder = 3,      // reader: the permutation inside a window
  kTailOrder = 4,        // reader: the permutation of an epoch's common tail
  kSampleOrder = 5,      // reader: one permutation of all samples
  kTransform = 6,        // a transform's draws
  kPermutation = 7,      // reader: the words that a permutation is made from
  kSubset = 20,          // the samples a subset takes
  kSplit = 21,           // which part of a split a source goes to
  kShardDeal = 8,        // reader: which rank gets which shards
  kSampleDraw = 9,       // reader: the samples of an epoch, if they are drawn
  kMixture = 10,         // reader: how a mixture's datasets take turns
  kMixtureTail = 11,     // reader: the last turns of an epoch of a mixture
  kMixturePart = 12,     // reader: the seed of each dataset of a mixture
  kPartners = 13,        // reader: the other samples of a mosaic
  kOutputSize = 14,      // reader: the size of a batch's images
  kPixelTransform = 30,  // the draws of a step that changes pixels
  kSampleFunction = 31,  // the user's own function for a sample
  kBatchFunction = 32,   // the user's own function for a batch
  kMix = 33,             // the samples of a batch that are mixed
};

// An endless stream of words for one (seed, purpose, a, b): counters 0, 1, 2, ... in turn.
class RandomStream {
 public:
  // `a` (64 bits) and `b` (16 bits) tell apart the streams of one purpose.
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint16_t b = 0) noexcept
      : key_(seed),
        counter_{0, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32),
                 static_cast<std::uint32_t>(purpose) << 16 | b} {}

  // A stream's position: its next word is number `word` of Philox(key, counter).
  struct Place {
    std::uint64_t key = 0;
    Words4 counter{};
    std::uint32_t word = 0;
  };
  Place place() const noexcept {
    Place at{key_, counter_, 0};
    if (used_ == 4) return at;
    --at.counter[0];
    at.word = static_cast<std::uint32_t>(used_);
    return at;
  }
  // Continues from `place`.
  explicit RandomStream(const Place& place) noexcept
      : key_(place.key),
        counter_(place.counter),
        words_(Philox(place.key, place.counter)),
        used_(static_cast<int>(place.word)) {
    ++counter_[0];
  }

  std::uint32_t Word() noexcept {
    if (used_ == 4) {
      words_ = Philox(key_, counter_);
      ++counter_[0];
      used_ = 0;
    }
    return words_[used_++];
  }
  std::uint64_t Word64() noexcept {
    const std::uint64_t high = Word();
    return high << 32 | Word();
  }
  // Uniform in [0, 1), a multiple of 2^-53.
  double Uniform() noexcept { return static_cast<double>(Word64() >> 11) * 0x1p-53; }
  // Uniform in [0, n) without bias, n > 0 (Lemire 2019, "Fast random integer generation in an
  // interval").
  std::uint64_t Below(std::uint64_t n) noexcept {
    Wide product = Wide{Word64()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t threshold = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < threshold) {
        product = Wide{Word64()} * n;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  std::uint64_t key_;
  Words4 counter_;
  Words4 words_{};
  int used_ = 4;  // how many of words_ were returned
};

}  // namespace sluice
