// Decimal numbers are checked for their characters before they are converted, so that no sign,
// exponent, "inf" or "nan" is a number, and the conversion (std::from_chars) does not depend on the
// locale. (ParseAnyNumber() takes all of these, for values that are stored and not counted.) Counts
// and bytes go through a double, so that "1.5 GB" is possible; above 2^53, where a double does not
// hold every whole number, they are refused. The texts change their form at 9.995, 59.95 and 999.5
// because rounding would show the next form's number from there on (10.00, 60.0 s, 1000).
#include "tools/cli/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace sluice::cli {
namespace {

std::string Quoted(std::string_view text) {
  return Format("\"%.*s\"", static_cast<int>(text.size()), text.data());
}

struct Unit {
  std::string_view name;  // lower case
  std::uint64_t factor;
};

constexpr std::array<Unit, 4> kCountUnits = {
    {{"", 1}, {"k", 1'000}, {"m", 1'000'000}, {"g", 1'000'000'000}}};
constexpr std::array<Unit, 11> kByteUnits = {{{"", 1},
                                              {"b", 1},
                                              {"k", 1'000},
                                              {"kb", 1'000},
                                              {"m", 1'000'000},
                                              {"mb", 1'000'000},
                                              {"g", 1'000'000'000},
                                              {"gb", 1'000'000'000},
                                              {"kib", 1 << 10},
                                              {"mib", 1 << 20},
                                              {"gib", 1 << 30}}};

// Of ASCII letters, whatever the locale is.
std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

// Reads decimal digits with an optional fraction, without a sign or an exponent. Returns false for
// any other text.
bool ReadDecimal(std::string_view text, double& value) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Reads a number and one of the units. Returns false for any other text, or beyond 2^53.
template <std::size_t count>
bool ReadWithUnit(std::string_view text, const std::array<Unit, count>& units,
                  std::uint64_t& value) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  if (!ReadDecimal(text.substr(0, digits), number)) return false;
  std::string_view rest = text.substr(digits);
  while (!rest.empty() && rest.front() == ' ')
    rest.remove_prefix(1);
  const std::string name = LowerCase(rest);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    const double product = std::round(number * static_cast<double>(unit.factor));
    if (product > 0x1p53) return false;
    value = static_cast<std::uint64_t>(product);
    return true;
  }
  return false;
}

}  // namespace

std::uint64_t ParseInteger(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || value < least || value > most) {
    std::string range;
    if (most != UINT64_MAX) {
      range = " from " + std::to_string(least) + " to " + std::to_string(most);
    } else if (least > 0) {
      range = " of at least " + std::to_string(least);
    }
    throw UsageError(Quoted(text) + " is not a whole number" + range);
  }
  return value;
}

double ParseNumber(std::string_view text, double most) {
  double value = 0;
  if (!ReadDecimal(text, value) || value > most) {
    throw UsageError(Quoted(text) + Format(" is not a number from 0 to %.15g", most));
  }
  return value;
}

double ParseAnyNumber(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && parsed == end) return number;
  throw UsageError("\"" + std::string(text) + "\" is not a number");
}

std::uint64_t ParseCount(std::string_view text) {
  std::uint64_t value = 0;
  if (!ReadWithUnit(text, kCountUnits, value)) {
    throw UsageError(Quoted(text) + " is not a number such as 5000, 20k or 178M");
  }
  return value;
}

std::uint64_t ParseBytes(std::string_view text) {
  std::uint64_t value = 0;
  if (!ReadWithUnit(text, kByteUnits, value)) {
    throw UsageError(Quoted(text) + " is not a number of bytes such as 64MB, 64MiB or 64000000");
  }
  return value;
}

Sides ParseSides(std::string_view text) {
  constexpr std::uint64_t kMost = 65535;
  const std::size_t cross = text.find('x');
  try {
    const auto width = static_cast<std::uint32_t>(ParseInteger(text.substr(0, cross), 1, kMost));
    if (cross == std::string_view::npos) return {width, width};
    return {width, static_cast<std::uint32_t>(ParseInteger(text.substr(cross + 1), 1, kMost))};
  } catch (const UsageError&) {
    throw UsageError(Quoted(text) +
                     " is not a size in pixels such as 224 or 320x240 (width x height)");
  }
}

std::array<std::uint8_t, 3> ParseColour(std::string_view text) {
  std::array<std::uint8_t, 3> colour{};
  const std::vector<std::string> numbers = Split(text);
  try {
    if (numbers.size() != colour.size()) throw UsageError("");
    for (std::size_t c = 0; c < colour.size(); ++c)
      colour[c] = static_cast<std::uint8_t>(ParseInteger(numbers[c], 0, 255));
  } catch (const UsageError&) {
    throw UsageError(Quoted(text) + " is not R,G,B, three numbers from 0 to 255");
  }
  return colour;
}

std::vector<std::string> Split(std::string_view text, char at) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin <= text.size(); begin += pieces.back().size() + 1)
    pieces.emplace_back(text.substr(begin, text.find(at, begin) - begin));
  return pieces;
}

std::string Format(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string BytesText(std::uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  const char* unit = "kB";
  double value = static_cast<double>(bytes) / 1e3;
  for (const char* larger : {"MB", "GB", "TB"}) {
    if (value < 999.5) break;  // 999.5 and more would round to 1000
    value /= 1000;
    unit = larger;
  }
  return RateText(value) + " " + unit;
}

std::string SecondsText(double seconds) {
  if (seconds < 9.995) return Format("%.2f s", seconds);
  if (seconds < 59.95) return Format("%.1f s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) {
    return Format("%u min %02u s", static_cast<unsigned>(whole / 60),
                  static_cast<unsigned>(whole % 60));
  }
  return Format("%llu h %02u min", static_cast<unsigned long long>(whole / 3600),
                static_cast<unsigned>(whole / 60 % 60));
}

std::string ClockText(double seconds) {
  const auto whole = static_cast<unsigned long long>(std::llround(seconds));
  if (whole < 3600) return Format("%llu:%02llu", whole / 60, whole % 60);
  return Format("%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string RateText(double per_second) {
  if (per_second < 9.995) return Format("%.2f", per_second);
  if (per_second < 99.95) return Format("%.1f", per_second);
  return Format("%.0f", per_second);
}

std::string CountText(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace sluice::cli
