// Quantities as people write them on a command line and read them in a report.
//
// The Parse functions throw UsageError with a sentence that says what is accepted.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

// A word on the command line is wrong. Ends the program with ExitCode::kWrongUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A whole number in decimal digits, least <= value <= most.
std::uint64_t ParseInteger(std::string_view text, std::uint64_t least, std::uint64_t most);

// A number that is not negative, such as "2.5", at most `most`.
double ParseNumber(std::string_view text, double most);

// A number, such as "-1" or "nan".
double ParseAnyNumber(std::string_view text);

// A count with an optional factor: "5000", "178M" (k, M and G are powers of 1000).
std::uint64_t ParseCount(std::string_view text);

// Bytes: "64000000", "64MB", "1.5 GB" (powers of 1000), "64MiB" (powers of 1024); case does not
// matter.
std::uint64_t ParseBytes(std::string_view text);

// "224" (a square) or "320x240" (width x height), in pixels, each side 1..65535.
struct Sides {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};
Sides ParseSides(std::string_view text);

// "255,128,0": red, green and blue, each 0 to 255.
std::array<std::uint8_t, 3> ParseColour(std::string_view text);

// Splits the text at each comma (or at each `at`). The result has one piece more than there are
// separators.
std::vector<std::string> Split(std::string_view text, char at = ',');

// Like printf, into a string.
std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

std::string BytesText(std::uint64_t bytes);  // "11.3 MB", powers of 1000
std::string SecondsText(double seconds);     // "0.42 s", "3 min 05 s", "2 h 10 min"
std::string ClockText(double seconds);       // "0:42", "1:02:05"
std::string RateText(double per_second);     // three significant digits or whole numbers
// "1 image", "2 images"
std::string CountText(std::uint64_t count, const char* one, const char* many);

}  // namespace sluice::cli
