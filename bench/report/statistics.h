// Statistics of repeated measurements of one thing.
#pragma once

#include <cstddef>
#include <vector>

namespace sluice::bench {

// The q-quantile (0..1) of the values, interpolated; 0 without values.
double Quantile(std::vector<double> values, double q);
double Median(const std::vector<double>& values);

struct Spread {
  double median = 0, least = 0, most = 0;
  // Half the distance from least to most, as a share of the median.
  double HalfWidth() const noexcept { return median != 0 ? (most - least) / 2 / median : 0; }
};
Spread SpreadOf(const std::vector<double>& values);

// The probability that `after` lies as far above `before` as it does, or farther, if all values
// come from one distribution.
//
// Uses the exact one-sided Mann-Whitney test if that is cheap (up to 20 values on each side, ties
// counted half), else its normal approximation. 1 if one side has no values.
double ChanceOfHigher(const std::vector<double>& before, const std::vector<double>& after);

// Amdahl's law fitted to throughputs by least squares over time per item:
// time(n) = time(1) * (serial + (1 - serial) / n).
struct SerialShare {
  std::size_t points = 0;     // to which the law was fitted
  double serial = 0;          // 0..1; 0: twice the threads give twice the speed
  double one_thread = 0;      // throughput of one thread, by the fit
  double worst_residual = 0;  // the largest distance of a point from the fit, as a share of the fit
};
SerialShare FitSerialShare(const std::vector<double>& threads,
                           const std::vector<double>& throughput);

}  // namespace sluice::bench
