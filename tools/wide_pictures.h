// Images of any type and number of channels, for commands: their values as numbers, and as pictures
// that people can look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sluice/image.h>
#include <sluice/schema.h>

namespace sluice {

// The number that the value at `at` stands for.
double NumberAt(PixelType type, const std::uint8_t* at) noexcept;

// The field's attribute `no_data` as a value of that type, which may be less precise; nullopt if
// the field has none.
std::optional<double> NoDataNumber(const Field& field, PixelType type) noexcept;

// The 2nd and 98th of a hundred parts of a list of numbers, which is reordered; {0, 1} if empty.
struct Spread {
  double low = 0, high = 1;
};
Spread SpreadOf(std::vector<float>& numbers);

// The image as an 8-bit picture of one or three channels, each stretched from the 2nd to the 98th
// percentile of its finite values. `bands`: names of one or three channels of the field's attribute
// `channels`; empty: the first three channels, or the first if there are fewer than three. No data
// is black. Throws Error(kInvalidArgument) for other names.
Image Stretched(const Image& image, const Field& field, const std::vector<std::string>& bands);

}  // namespace sluice
