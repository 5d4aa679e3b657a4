// ChanceOfHigher() counts, of all orders of the values, those that are at least as extreme. Ties
// count half, and the sum is rounded down, so that a tie can make the chance larger but never
// smaller. By Amdahl's law, the time per item is a line over 1 / threads: its height at 0 is the
// serial part, its slope the parallel part. FitSerialShare() fits that line; points weigh by the
// square of their throughput, so that relative errors count. Noise can make one of the two parts
// negative; the fit is then repeated without that part.
#include "bench/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sluice::bench {

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double share = place - static_cast<double>(below);
  return values[below] * (1 - share) + values[above] * share;
}

double Median(const std::vector<double>& values) {
  return Quantile(values, 0.5);
}

Spread SpreadOf(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {Median(values), *least, *most};
}

namespace {

// The number of pairs in which `after` is above `before`; equal values count half.
double PairsAbove(const std::vector<double>& before, const std::vector<double>& after) {
  double pairs = 0;
  for (const double b : before) {
    for (const double a : after)
      pairs += a > b ? 1 : (a == b ? 0.5 : 0);
  }
  return pairs;
}

// Element u of the result is the number of orders of m and n values in which, in u of the m * n
// pairs, the one of the n is above the one of the m. The recursion of Mann and Whitney: the largest
// value is either one of the n (and so above all m) or one of the m.
std::vector<double> Arrangements(std::size_t m, std::size_t n) {
  std::vector<std::vector<double>> row(m + 1, std::vector<double>(m * n + 1));
  for (std::size_t i = 0; i <= m; ++i)
    row[i][0] = 1;  // the other side has no values
  for (std::size_t j = 1; j <= n; ++j) {
    std::vector<std::vector<double>> next(m + 1, std::vector<double>(m * n + 1));
    next[0][0] = 1;
    for (std::size_t i = 1; i <= m; ++i) {
      for (std::size_t u = 0; u <= i * j; ++u)
        next[i][u] = next[i - 1][u] + (u >= i ? row[i][u - i] : 0);
    }
    row = std::move(next);
  }
  return row[m];
}

}  // namespace

double ChanceOfHigher(const std::vector<double>& before, const std::vector<double>& after) {
  const std::size_t m = before.size();
  const std::size_t n = after.size();
  if (m == 0 || n == 0) return 1;
  const double pairs = PairsAbove(before, after);
  // The exact count takes about m * m * n * n steps. For more values, the normal distribution is
  // near enough; the 0.5 corrects for the whole numbers of pairs.
  if (m > 20 || n > 20) {
    const double product = static_cast<double>(m) * static_cast<double>(n);
    const double deviation = std::sqrt(product * static_cast<double>(m + n + 1) / 12);
    return 0.5 * std::erfc((pairs - 0.5 - product / 2) / deviation / std::sqrt(2.0));
  }
  const std::vector<double> counts = Arrangements(m, n);
  double all = 0;
  double as_high = 0;
  for (std::size_t u = 0; u < counts.size(); ++u) {
    all += counts[u];
    if (static_cast<double>(u) >= std::floor(pairs)) as_high += counts[u];
  }
  return as_high / all;
}

SerialShare FitSerialShare(const std::vector<double>& threads,
                           const std::vector<double>& throughput) {
  // 1 / throughput = a + b / threads, each point weighted so that relative errors count.
  double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const double x = 1 / threads[i];
    const double y = 1 / throughput[i];
    const double weight = throughput[i] * throughput[i];
    s += weight;
    sx += weight * x;
    sy += weight * y;
    sxx += weight * x * x;
    sxy += weight * x * y;
  }
  const double determinant = s * sxx - sx * sx;
  if (threads.size() < 2 || determinant <= 0) return {};
  double b = (s * sxy - sx * sy) / determinant;
  double a = (sy - b * sx) / s;
  if (a < 0) {  // faster than proportional: no serial part, within noise
    a = 0;
    b = sxy / sxx;
  } else if (b < 0) {  // more threads do not help at all
    a = sy / s;
    b = 0;
  }
  SerialShare fit{threads.size(), a / (a + b), 1 / (a + b), 0};
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const double fitted = 1 / (a + b / threads[i]);
    fit.worst_residual = std::max(fit.worst_residual, std::fabs(throughput[i] / fitted - 1));
  }
  return fit;
}

}  // namespace sluice::bench
