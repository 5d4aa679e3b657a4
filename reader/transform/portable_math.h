// exp, log, sine and cosine that give the same bits on every machine: IEEE additions,
// multiplications and divisions in a fixed order, and only library functions whose results are
// exact, such as std::floor(). For random draws, which must not differ between platforms.
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

// sin x and cos x for |x| < 100, to about 1e-15: removes a whole number of half turns, then sums
// the Taylor series of the rest, at most a quarter turn either way.
inline double PortableSin(double x) noexcept {
  const double half_turns = std::floor(x * 0.31830988618379067154 + 0.5);
  // Pi in two parts; the first is short, so that its multiples are exact.
  const double r =
      (x - half_turns * 3.14159262180328369140625) - half_turns * 3.178650954705639338e-08;
  double sum = 1;
  for (int n = 25; n >= 3; n -= 2)
    sum = 1 - sum * r * r / (n * (n - 1));
  const double sine = sum * r;
  return std::fmod(half_turns, 2) == 0 ? sine : -sine;
}
inline double PortableCos(double x) noexcept {
  return PortableSin(x + 1.57079632679489661923);
}

// The nearest whole number; of two that are equally near, the even one. Python's round() and
// torch.round() do the same, which torchvision uses.
inline double RoundHalfEven(double value) noexcept {
  const double below = std::floor(value);
  const double rest = value - below;
  if (rest != 0.5) return std::floor(value + 0.5);
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

}  // namespace sluice
