// Medians, quantiles, the test whether two sets of values differ, and the fit of Amdahl's law.
#include "bench/report/statistics.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"

namespace sluice::bench {
namespace {

// What ChanceOfHigher() must return, found by counting: tries every way to choose as many of all
// the values as `after` has, and returns the share of choices that are at least as high as `after`.
double ByCounting(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> pool = before;
  pool.insert(pool.end(), after.begin(), after.end());
  const auto pairs = [&](unsigned chosen) {
    double count = 0;
    for (std::size_t a = 0; a < pool.size(); ++a) {
      for (std::size_t b = 0; b < pool.size(); ++b) {
        if ((chosen >> a & 1) == 1 && (chosen >> b & 1) == 0) count += pool[a] > pool[b] ? 1 : 0;
      }
    }
    return count;
  };
  const unsigned own = ((1U << after.size()) - 1) << before.size();
  double all = 0, as_high = 0;
  for (unsigned chosen = 0; chosen < 1U << pool.size(); ++chosen) {
    if (__builtin_popcount(chosen) != static_cast<int>(after.size())) continue;
    ++all;
    if (pairs(chosen) >= pairs(own)) ++as_high;
  }
  return as_high / all;
}

}  // namespace

TEST_CASE("a median lies in the middle, between two values if their number is even") {
  CHECK(Median({}) == 0);
  CHECK(Median({5}) == 5);
  CHECK(Median({9, 1, 4}) == 4);
  CHECK(Median({9, 1, 4, 6}) == 5);
}

TEST_CASE("quantiles are interpolated, and their ends are the extremes") {
  const std::vector<double> values = {40, 10, 30, 20, 50};
  CHECK(Quantile(values, 0) == 10);
  CHECK(Quantile(values, 1) == 50);
  CHECK(Quantile(values, 0.25) == 20);
  CHECK(Quantile(values, 0.9) == Approx(46));
  const Spread spread = SpreadOf(values);
  CHECK(spread.median == 30);
  CHECK(spread.least == 10);
  CHECK(spread.most == 50);
  CHECK(spread.HalfWidth() == Approx(2.0 / 3));
}

TEST_CASE("the probability of values as high as these is what counting all arrangements gives") {
  // Three against three, fully separated: one arrangement of twenty.
  CHECK(ChanceOfHigher({1, 2, 3}, {4, 5, 6}) == Approx(0.05));
  CHECK(ChanceOfHigher({4, 5, 6}, {1, 2, 3}) == Approx(1));
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> cases = {
      {{1, 5, 2}, {3, 4, 9, 8}},
      {{10, 20, 30, 40, 50}, {15, 25, 35, 60, 70}},
      {{7}, {8, 9}},
      {{2, 4, 6, 8}, {1, 3, 5, 7}}};
  for (const auto& [before, after] : cases)
    CHECK(ChanceOfHigher(before, after) == Approx(ByCounting(before, after)));
  CHECK(ChanceOfHigher({}, {1}) == 1);
  CHECK(ChanceOfHigher({1}, {}) == 1);
}

TEST_CASE("equal values on both sides do not indicate a change") {
  CHECK(ChanceOfHigher({5, 5, 5}, {5, 5, 5}) > 0.5);
}

TEST_CASE("for many values, the probability comes from the normal distribution") {
  std::vector<double> before, after;
  for (int i = 0; i < 30; ++i) {
    before.push_back(2 * i);
    after.push_back(2 * i + 1);  // above i + 1 values of `before`
  }
  // In 30 * 31 / 2 = 465 of 900 pairs the value of `after` is higher. Without a change, that number
  // is 450 on average, with a standard deviation of sqrt(900 * 61 / 12) = 67.64. It is a whole
  // number, so the normal distribution is taken from half a step below it (0.5).
  CHECK(ChanceOfHigher(before, after) ==
        Approx(0.5 * std::erfc((465 - 0.5 - 450) / std::sqrt(900 * 61 / 12.0) / std::sqrt(2.0))));
}

TEST_CASE("the fitted serial share is the one with which the throughputs were computed") {
  for (const double serial : {0.0, 0.05, 0.3, 1.0}) {
    std::vector<double> threads, throughput;
    for (const double n : {1.0, 2.0, 4.0, 8.0}) {
      threads.push_back(n);
      throughput.push_back(1000 / (serial + (1 - serial) / n));
    }
    const SerialShare fit = FitSerialShare(threads, throughput);
    CHECK(fit.serial == Approx(serial).margin(1e-9));
    CHECK(fit.one_thread == Approx(1000));
    CHECK(fit.worst_residual < 1e-9);
  }
}

TEST_CASE("threads that gain more than in proportion have a serial share of 0, not less") {
  const SerialShare fit = FitSerialShare({1, 2}, {1000, 2100});
  CHECK(fit.serial == 0);
  CHECK(fit.worst_residual > 0.01);
  CHECK(FitSerialShare({2}, {1000}).one_thread == 0);
  CHECK(FitSerialShare({1, 2}, {1000, 800}).serial == 1);
}

}  // namespace sluice::bench
