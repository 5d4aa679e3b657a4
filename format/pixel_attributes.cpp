#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <sluice/error.h>
#include <sluice/pixel_attributes.h>

namespace sluice {

std::vector<std::string> ChannelNamesOf(const Field& field) {
  std::vector<std::string> names;
  const auto found = field.attributes.find("channels");
  if (found == field.attributes.end()) return names;
  const std::string& text = found->second;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::optional<double> NoDataOf(const Field& field) noexcept {
  const auto found = field.attributes.find("no_data");
  if (found == field.attributes.end()) return std::nullopt;
  const std::string& text = found->second;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

void CheckPixelAttributes(const Field& field) {
  if (field.kind != FieldKind::kImage) return;
  const auto refuse = [&field](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "field \"" + field.name + "\": " + what);
  };
  std::vector<std::string> names = ChannelNamesOf(field);
  std::ranges::sort(names);
  if (std::ranges::find(names, "") != names.end() ||
      std::ranges::adjacent_find(names) != names.end()) {
    refuse("its attribute \"channels\" is \"" + field.attributes.at("channels") +
           "\"; give a different name to each channel, such as \"B02,B03,B04\"");
  }
  if (field.attributes.contains("no_data") && !NoDataOf(field)) {
    refuse("its attribute \"no_data\" is \"" + field.attributes.at("no_data") +
           "\"; give a number, such as \"-9999\", or \"nan\"");
  }
}

}  // namespace sluice
