// People see 8 bits a channel, so values of any range have to be stretched. The 2nd and 98th
// percentiles are taken rather than the least and greatest values, since a few broken pixels would
// otherwise make the rest of the picture one grey. Each channel has a range of its own. Percentiles
// are computed over finite values that are not "no data" only; pixels without a value become black.
// For float types, the number for no data is first rounded to the type, because it is compared with
// values that were rounded in the same way when they were stored.
#include "tools/wide_pictures.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <sluice/error.h>
#include <sluice/nearest_name.h>
#include <sluice/pixel_attributes.h>

namespace sluice {

namespace {

template <class T>
T ValueIn(const std::uint8_t* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::vector<std::size_t> ShownChannels(const Image& image, const Field& field,
                                       const std::vector<std::string>& bands) {
  if (bands.empty())
    return image.channels >= 3 ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{0};
  const std::vector<std::string> names = ChannelNamesOf(field);
  std::vector<std::size_t> channels;
  for (const std::string& band : bands) {
    const auto at = std::ranges::find(names, band);
    if (at == names.end() || at - names.begin() >= image.channels) {
      throw Error(ErrorCode::kInvalidArgument,
                  "field \"" + field.name + "\" has no channel \"" + band + "\"" +
                      (names.empty() ? ": it has no attribute \"channels\" with their names"
                                     : NamesInstead(band, names, "it has")));
    }
    channels.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  if (channels.size() != 1 && channels.size() != 3)
    throw Error(ErrorCode::kInvalidArgument, "a picture is made of one or three channels");
  return channels;
}

}  // namespace

double NumberAt(PixelType type, const std::uint8_t* at) noexcept {
  switch (type) {
    case PixelType::kUint8: return *at;
    case PixelType::kUint16: return ValueIn<std::uint16_t>(at);
    case PixelType::kInt16: return ValueIn<std::int16_t>(at);
    case PixelType::kFloat16: return static_cast<float>(ValueIn<Float16>(at));
    case PixelType::kFloat32: break;
  }
  return double(ValueIn<float>(at));
}

std::optional<double> NoDataNumber(const Field& field, PixelType type) noexcept {
  std::optional<double> number = NoDataOf(field);
  if (number && type == PixelType::kFloat16) number = Float16(static_cast<float>(*number));
  if (number && type == PixelType::kFloat32) number = static_cast<float>(*number);
  return number;
}

Spread SpreadOf(std::vector<float>& numbers) {
  if (numbers.empty()) return {};
  const auto at = [&numbers](std::size_t per_cent) {
    const auto place =
        numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) * per_cent / 100);
    std::nth_element(numbers.begin(), place, numbers.end());
    return double(*place);
  };
  const double low = at(2);
  return {low, at(98)};
}

Image Stretched(const Image& image, const Field& field, const std::vector<std::string>& bands) {
  const std::vector<std::size_t> channels = ShownChannels(image, field, bands);
  const std::optional<double> no_data = NoDataNumber(field, image.pixel_type);
  const std::size_t pixels = std::size_t{image.width} * image.height;
  const std::size_t bytes = SizeOf(image.pixel_type);
  Image picture;
  picture.width = image.width;
  picture.height = image.height;
  picture.channels = static_cast<std::uint8_t>(channels.size());
  picture.pixels.resize(pixels * channels.size());
  std::vector<float> valid;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const auto number = [&](std::size_t i) {
      const double value =
          NumberAt(image.pixel_type, &image.pixels[(i * image.channels + channels[c]) * bytes]);
      return value == no_data ? std::numeric_limits<double>::quiet_NaN() : value;
    };
    valid.clear();
    for (std::size_t i = 0; i < pixels; ++i)
      if (const double value = number(i); std::isfinite(value))
        valid.push_back(static_cast<float>(value));
    const Spread spread = SpreadOf(valid);
    // A channel of one value has no range; it becomes black.
    const double range = std::max(spread.high - spread.low, 1e-30);
    for (std::size_t i = 0; i < pixels; ++i) {
      const double share = (number(i) - spread.low) / range;
      picture.pixels[i * channels.size() + c] =
          std::isnan(share) ? 0
                            : static_cast<std::uint8_t>(std::clamp(share, 0.0, 1.0) * 255 + 0.5);
    }
  }
  return picture;
}

}  // namespace sluice
