// exp and log that give the same bits on every machine: IEEE additions, multiplications and
// divisions in a fixed order, no library call. For random draws, which must not differ between
// platforms.
#pragma once

#include <cmath>

namespace sluice {

// Natural logarithm of x > 0, to about 1e-15 relative: log x = e ln 2 + 2 artanh((m - 1) / (m +
// 1)).
inline double PortableLog(double x) noexcept {
  int exponent = 0;
  const double m = std::frexp(x, &exponent);  // exact, m in [0.5, 1)
  const double y = (m - 1) / (m + 1);
  const double y2 = y * y;
  double sum = 0;
  for (int n = 41; n >= 1; n -= 2)
    sum = sum * y2 + 1.0 / n;
  return exponent * 0.69314718055994530942 + 2 * y * sum;
}

// e^x for |x| < 700, to about 1e-15 relative: 2^k e^r with |r| <= ln 2 / 2, e^r by its Taylor
// series.
inline double PortableExp(double x) noexcept {
  const double k = std::floor(x * 1.44269504088896340736 + 0.5);
  const double r = x - k * 0.69314718055994530942;
  double sum = 1;
  for (int n = 18; n >= 1; --n)
    sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));  // exact
}

}  // namespace sluice
