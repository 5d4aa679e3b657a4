// Random numbers: Philox4x32-10, and streams of it.
#include "format/random.h"

#include "tests/catch.h"

namespace sluice {

// From kat_vectors of Random123, the reference implementation of the paper.
TEST_CASE("Philox4x32-10 gives the published known answers") {
  CHECK(Philox(0, {0, 0, 0, 0}) == Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(Philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a random stream gives the words of counters 0, 1, 2, ... in order") {
  RandomStream stream(42, Purpose::kTransform, 0x0123456789abcdef, 7);
  for (std::uint32_t counter = 0; counter < 3; ++counter) {
    const Words4 words = Philox(42, {counter, 0x89abcdef, 0x01234567, 6u << 16 | 7});
    for (const std::uint32_t word : words)
      CHECK(stream.Word() == word);
  }
}

TEST_CASE("a stream can continue from another one's position") {
  RandomStream stream(5, Purpose::kTransform, 7, 9);
  for (int used = 0; used < 13; ++used) {
    RandomStream other(stream.place());
    RandomStream same = stream;
    for (int i = 0; i < 10; ++i)
      REQUIRE(other.Word() == same.Word());
    stream.Word();
  }
}

TEST_CASE("streams of different purposes, numbers and seeds are different") {
  const auto first = [](std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint16_t b) {
    return RandomStream(seed, purpose, a, b).Word64();
  };
  const std::uint64_t one = first(1, Purpose::kBlockOrder, 2, 3);
  CHECK(one == first(1, Purpose::kBlockOrder, 2, 3));
  CHECK(one != first(2, Purpose::kBlockOrder, 2, 3));
  CHECK(one != first(1, Purpose::kWindowOrder, 2, 3));
  CHECK(one != first(1, Purpose::kBlockOrder, 3, 3));
  CHECK(one != first(1, Purpose::kBlockOrder, 2, 4));
  CHECK(one != first(1, Purpose::kBlockOrder, std::uint64_t{2} << 32, 3));
}

TEST_CASE("Below draws every number below its bound equally often") {
  RandomStream stream(5, Purpose::kSampleOrder, 0);
  constexpr std::uint64_t kBound = 7;
  constexpr int kDraws = 70'000;
  std::array<int, kBound> counts{};
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t drawn = stream.Below(kBound);
    REQUIRE(drawn < kBound);
    ++counts[drawn];
  }
  double chi_square = 0;
  for (const int count : counts) {
    const double off = count - double{kDraws} / kBound;
    chi_square += off * off / (double{kDraws} / kBound);
  }
  CHECK(chi_square < 22.5);  // with 6 degrees of freedom, 0.1% of the distribution lies above
}

TEST_CASE("Below keeps to its bound if half of all words must be rejected") {
  RandomStream stream(5, Purpose::kSampleOrder, 1);
  constexpr std::uint64_t kBound = (std::uint64_t{1} << 63) + 1;
  int upper_half = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t drawn = stream.Below(kBound);
    REQUIRE(drawn < kBound);
    if (drawn >= kBound / 2) ++upper_half;
  }
  CHECK(upper_half > 400);
  CHECK(upper_half < 600);
}

TEST_CASE("Uniform is at least 0, below 1, and 0.5 on average") {
  RandomStream stream(9, Purpose::kTransform, 0);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double drawn = stream.Uniform();
    REQUIRE(drawn >= 0);
    REQUIRE(drawn < 1);
    sum += drawn;
  }
  CHECK(sum / 10'000 > 0.5 - 4 * 0.2887 / 100);
  CHECK(sum / 10'000 < 0.5 + 4 * 0.2887 / 100);
}

}  // namespace sluice
