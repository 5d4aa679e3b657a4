// The permutation that shuffles numbers without a table: a bijection, and evenly distributed.
#include "reader/order/permutation.h"

#include <cmath>
#include <set>
#include <vector>

#include "tests/catch.h"

using sluice::Permutation;

TEST_CASE("A permutation takes every value exactly once, and its inverse undoes it") {
  for (const std::uint64_t n :
       {0, 1, 2, 3, 7, 64, 1000, 65535, 65536, 65537, 100'000, 131'072, 200'001}) {
    Permutation permutation(n, 42);
    std::vector<bool> seen(n, false);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t value = permutation(i);
      REQUIRE(value < n);
      REQUIRE_FALSE(seen[value]);
      seen[value] = true;
      if (i % 997 == 0) REQUIRE(permutation.Inverse(value) == i);
    }
  }
}

TEST_CASE("Different keys give different permutations, and the same key the same one") {
  for (const std::uint64_t n : {1000, 100'000}) {
    const Permutation a(n, 1);
    const Permutation b(n, 2);
    const Permutation again(n, 1);
    std::uint64_t same = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      same += a(i) == b(i) ? 1 : 0;
      REQUIRE(a(i) == again(i));
    }
    // Two independent permutations agree in one place on average, whatever their size.
    REQUIRE(same < 10);
  }
}

TEST_CASE("Every position gets every value equally often over many keys") {
  constexpr std::uint64_t kN = 8;
  constexpr int kKeys = 20'000;
  std::vector<double> counts(kN * kN);
  for (int key = 0; key < kKeys; ++key) {
    const Permutation permutation(kN, static_cast<std::uint64_t>(key));
    for (std::uint64_t i = 0; i < kN; ++i)
      counts[i * kN + permutation(i)] += 1;
  }
  double chi_square = 0;
  const double expected = double(kKeys) / kN;
  for (const double count : counts)
    chi_square += (count - expected) * (count - expected) / expected;
  // (n-1)^2 = 49 degrees of freedom: 99.99% of the distribution lies below 95.
  REQUIRE(chi_square < 95);
}

TEST_CASE("A permutation above the table's limit spreads neighbours evenly") {
  constexpr std::uint64_t kN = 1'000'000;
  const Permutation permutation(kN, 7);
  // The mean distance of two independent uniform values is n / 3.
  double sum = 0;
  for (std::uint64_t i = 0; i + 1 < 100'000; ++i) {
    sum += std::fabs(double(permutation(i)) - double(permutation(i + 1)));
  }
  REQUIRE(sum / 99'999 / kN == Approx(1.0 / 3).margin(0.01));
}
