// The attributes of an image field that say what its values are (format/FORMAT.md, "Schema"): the
// names of its channels, and the number that stands for no data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sluice/schema.h>

namespace sluice {

// The names in the attribute `channels`, "B02,B03,B04"; none if the field lacks it.
std::vector<std::string> ChannelNamesOf(const Field& field);
// The attribute `no_data`, a number or "nan"; nullopt if the field lacks it, or if it is neither.
std::optional<double> NoDataOf(const Field& field) noexcept;
// Throws Error(kInvalidArgument) if the attributes break the format's rules.
void CheckPixelAttributes(const Field& field);

}  // namespace sluice
